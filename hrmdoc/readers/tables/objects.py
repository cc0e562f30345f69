"""Files in which a tracker keeps what it was told: a JSON value a line, each a message of some sort."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Record

Row = Mapping[str, Any]
Found = Iterable[Record | Row]
Read = Callable[[Context, Any, int], Found]
_NONE = object()


class ObjectSession(LineSession):
    """A session of such a file.

    Args:
        context: the file.
        read: what one message says, with its line: records, and rows of names and numbers, whose step stands
            under `step` and whose time under `_timestamp`.
        messages: what the lines are called.
    """

    def __init__(self, context: Context, read: Read, messages: str) -> None:
        super().__init__(context)
        self._read = read
        self._rows = Rows(context, precision=3)
        self._unread = LeftOut(context.path, f"lines that are no {messages}")

    def close(self) -> Iterator[Record]:
        """The last line, when it is whole although no line end follows."""
        rest = self._lines.close()
        if rest and _parsed(rest) is _NONE:
            yield Damage(self._context.path, self._lines.number, "the last line is incomplete", left_out=1)
            rest = b""
        yield from self._block(rest)
        yield from self._unread.rest()
        yield from self._rows.rest()

    def _block(self, block: bytes) -> Iterator[Record]:
        first = self._lines.number
        for place, line in enumerate(self._lines.split(block) if block else (), first):
            if not line.strip():
                continue
            message = _parsed(line)
            if message is _NONE:
                yield from self._unread.at(place, "the line is no JSON and was left out")
                continue
            for found in self._read(self._context, message, place):
                if isinstance(found, Mapping):
                    self._rows.add(found, place)
                else:
                    yield found
        yield from self._overlong()
        yield from self._rows.points()


def _parsed(line: bytes) -> Any:
    try:
        return json_text.loads(line)
    except ValueError:
        return _NONE
