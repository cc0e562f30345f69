"""Sessions of formats that are rewritten as a whole: they gather the bytes and read them at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hrmdoc.errors import InputError
from hrmdoc.readers.base import Context
from hrmdoc.run import Record

MAX_DOCUMENT = 256 << 20


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
            raise InputError(f"is larger than {MAX_DOCUMENT >> 20} MiB, too large for a document", file=self._context.path)
        self._parts.append(bytes(data))

    def close(self) -> Iterator[Record]:
        """Everything."""
        blob = b"".join(self._parts)
        self._parts = []
        if blob.strip(b"\0 \t\r\n"):
            yield from self._read(self._context, blob)
