"""Logs of protocol-buffer messages in LevelDB's record framing, as W&B and SwanLab keep their runs.

Layout: a 7-byte header, then blocks of 32 KiB; a frame has a checksum, a length and a kind.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator

from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Record

HEADER = 7
_BLOCK = 32768
_MOST_WORK = 1 << 22  # bytes that are summed in search of the next frame of a block
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class FramedSession(ABC):
    """A session of such a log: `_message` gets whole ones.

    Args:
        context: the file.
        magic: what the file begins with.
        whose: who writes such files, for a note on one that begins otherwise.

    Attributes:
        _begin: where the message at hand begins, in bytes.
    """

    def __init__(self, context: Context, magic: bytes, whose: str) -> None:
        self._context = context
        self._magic, self._whose = magic, whose
        self._rest = b""
        self._offset = 0
        self._parts: list[bytes] = []
        self._begin = 0

    @abstractmethod
    def _message(self, data: bytes) -> Iterator[Record]:
        """Records of one message.

        Raises:
            ValueError: it cannot be decoded.
        """

    @abstractmethod
    def _gathered(self) -> Iterator[Record]:
        """What messages left to be given out together."""

    @abstractmethod
    def _last(self) -> Iterator[Record]:
        """What waited for messages that do not come any more."""

    def feed(self, data: bytes) -> Iterator[Record]:
        """Records of every whole message."""
        buffer = self._rest + data
        at = 0
        if self._offset == 0:
            if len(buffer) < HEADER:
                self._rest = buffer
                return
            at = HEADER
            if not buffer.startswith(self._magic):
                yield Damage(self._context.path, 0, f"the file does not begin as {self._whose} does")
        at = yield from self._frames(buffer, at)
        self._rest = buffer[at:]
        self._offset += at
        yield from self._gathered()

    def close(self) -> Iterator[Record]:
        """What can be saved of a damaged end, and a note on a torn record."""
        at = yield from self._frames(
            self._rest, 0 if self._offset else min(HEADER, len(self._rest)), final=True
        )
        yield from self._gathered()
        yield from self._last()
        rest, self._rest = self._rest[at:], b""
        if rest.strip(b"\0"):
            yield Damage(
                self._context.path, self._offset + at, f"the last record is incomplete ({len(rest)} bytes)"
            )

    def _frames(self, buffer: bytes, at: int, *, final: bool = False) -> Generator[Record, None, int]:
        """Cuts whole frames out of `buffer`; returns where the first torn one begins.

        Behind a damaged frame the next sound one of its block is looked for, once the block is whole or the
        file has ended.
        """
        while True:
            left = _BLOCK - (self._offset + at) % _BLOCK
            have = len(buffer) - at
            if left < HEADER:
                if have < left:
                    return at
                at += left
                continue
            if have >= HEADER and _sound(buffer, at, at + left):
                length = int.from_bytes(buffer[at + 4 : at + 6], "little")
                yield from self._frame(
                    buffer[at + HEADER : at + HEADER + length], buffer[at + 6], self._offset + at
                )
                at += HEADER + length
                continue
            if have < left and not final:
                return at
            found = _next_sound(buffer, at + 1, at + left)
            if found is None and have < left:
                return at
            stop = at + left if found is None else found
            if any(buffer[at:stop]):
                yield Damage(
                    self._context.path,
                    self._offset + at,
                    f"damaged bytes were passed over ({stop - at} bytes)",
                )
                self._parts = []
            at = stop

    def _frame(self, part: bytes, kind: int, place: int) -> Iterator[Record]:
        """Takes in a sound frame; the last one of a message completes it."""
        if kind in (_FULL, _FIRST):
            self._parts, self._begin = [], place
        elif not self._parts:
            return  # the beginning of this message was damaged, which has been reported
        self._parts.append(part)
        if kind in (_FULL, _LAST):
            message, self._parts = b"".join(self._parts), []
            try:
                yield from self._message(message)
            except ValueError:
                yield Damage(
                    self._context.path, self._begin, "a record could not be decoded and was left out"
                )


def _sound(buffer: bytes, at: int, end: int) -> bool:
    """Whether a whole frame with a right checksum begins at `at` and lies before `end`, the end of its
    block."""
    size, kind = int.from_bytes(buffer[at + 4 : at + 6], "little"), buffer[at + 6]
    if not _FULL <= kind <= _LAST or at + HEADER + size > min(end, len(buffer)):
        return False
    return zlib.crc32(buffer[at + 6 : at + HEADER + size]) == int.from_bytes(buffer[at : at + 4], "little")


def _next_sound(buffer: bytes, at: int, end: int) -> int | None:
    """Where the next sound frame before `end` begins. Hostile bytes look like a frame at every place: the
    work is bounded."""
    work = 0
    for start in range(at, min(end, len(buffer)) - HEADER + 1):
        if _FULL <= buffer[start + 6] <= _LAST:
            if _sound(buffer, start, end):
                return start
            work += int.from_bytes(buffer[start + 4 : start + 6], "little")
            if work > _MOST_WORK:
                return None
    return None
