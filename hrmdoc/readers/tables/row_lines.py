"""Sessions of formats whose lines of text make up rows: readings of machines, which know no step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Record


class RowLines(LineSession):
    """Reads stripped lines of text into rows that are numbered.

    Args:
        context: the file.
        unread: what lines are that hold no reading, in the plural.
    """

    def __init__(self, context: Context, unread: str = "lines that are no readings") -> None:
        super().__init__(context)
        self._rows = Rows(context, precision=1)
        self._unread = LeftOut(context.path, unread)

    def close(self) -> Iterator[Record]:
        """The last line, and the row that it ends."""
        yield from super().close()
        self._end()
        yield from self._rows.points()
        yield from self._unread.rest()

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        first = self._lines.number
        for place, raw in enumerate(self._lines.split(block), first):
            yield from self._line(raw.decode("utf-8", "replace").strip(), place)
        yield from self._overlong()
        yield from self._rows.points()

    def _add(self, number: int, seconds: float, values: Mapping[str, float], place: int) -> None:
        """A row; `seconds` is Unix time, NaN where it is unknown."""
        clock = {"timestamp": seconds} if math.isfinite(seconds) else {}
        self._rows.add({"step": number, **clock, **values}, place)

    @abstractmethod
    def _line(self, line: str, place: int) -> Iterator[Damage]:
        """Takes one line in."""

    def _end(self) -> None:
        """Adds the row that is at hand when the file ends."""
