"""Sessions of formats that are rewritten as a whole: they gather the bytes and read them at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_DOCUMENT
from hrmdoc.record.records import Damage, Record


class Whole:
    """Gathers a document and hands it to `read` when it has ended.

    Args:
        context: the file.
        read: gives the records of the whole document.
    """

    def __init__(self, context: Context, read: Callable[[Context, bytes], Iterable[Record]]) -> None:
        self._context = context
        self._read = read
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Record]:
        """Nothing yet.

        Raises:
            InputError: the document is larger than can be held in memory at once.
        """
        yield from ()
        self._size += len(data)
        if self._size > MAX_DOCUMENT:
            raise InputError(
                f"is larger than {MAX_DOCUMENT >> 20} MiB, too large for a document", file=self._context.path
            )
        self._parts.append(bytes(data))

    def close(self) -> Iterator[Record]:
        """Everything."""
        blob = b"".join(self._parts)
        self._parts = []
        if blob.strip(b"\0 \t\r\n"):
            yield from self._read(self._context, blob)


def json_session(
    context: Context,
    read: Callable[[Context, Any], Iterable[Record]],
    salvage: Callable[[bytes], Any] | None = None,
) -> Whole:
    """A session of one JSON document.

    Args:
        context: the file.
        read: gives the records of the parsed document.
        salvage: what can be saved of a damaged one, for `read`; nothing by default.
    """

    def parsed(context: Context, blob: bytes) -> Iterator[Record]:
        try:
            tree = json_text.document(blob, context.path)
        except InputError as error:
            tree = salvage(blob) if salvage else None
            yield Damage(
                context.path, error.line, error.what + ("; its whole entries were kept" if tree else "")
            )
            if tree is None:
                return
        yield from read(context, tree)

    return Whole(context, parsed)
