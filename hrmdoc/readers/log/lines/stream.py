"""Bytes in any cut become blocks of whole pieces.

A piece ends at a line feed or a carriage return: progress bars redraw with the latter. Line numbers count
line feeds only.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hrmdoc.text import patterns
from hrmdoc.text.clean import ANSI

PIECE_LIMIT = 64 * 1024
"""Bytes of one piece that are kept."""
_SLICE = 1 << 20
_NO_NUMBER = patterns.lazy(r"(-?)(?<![\d.])1\.#(INF|IND|QNAN|SNAN)\d{0,16}")
"""How programs built by older compilers of Microsoft spell what is no number."""
_FEW = 16
"""Pieces that are looked up at first; whoever asks may leave after a few of thousands."""


class Block(Struct, frozen=True):
    """Whole pieces.

    Attributes:
        data: the bytes.
        ends: positions of the terminators, shape [pieces].
        first: the line number of the first piece.
        feeds: how many line feeds stand before each piece, shape [pieces]; None where every piece ends with
            one.
    """

    data: bytes
    ends: NDArray[np.int64]
    first: int
    feeds: NDArray[np.int64] | None

    def bounds(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where some pieces, in order, start and end, each of shape [rows]."""
        starts = self.ends[rows - 1] + 1
        if len(rows) and not rows[0]:
            starts[0] = 0
        return starts, self.ends[rows]

    def row_of(self, line: int) -> int:
        """The first piece of a line."""
        behind = line - self.first
        return behind if self.feeds is None else int(np.searchsorted(self.feeds, behind))

    def of(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, int, int, int]]:
        """Number, start, end and line of some pieces, looked up as far as they are asked for."""
        begin, count = 0, _FEW
        while begin < len(rows):
            some = rows[begin : begin + count]
            starts, ends = self.bounds(some)
            lines = self.first + (some if self.feeds is None else self.feeds[some])
            yield from zip(some.tolist(), starts.tolist(), ends.tolist(), lines.tolist(), strict=True)
            begin, count = begin + count, 2 * count


class Splitter:
    """Cuts bytes into blocks, keeps the torn end, and notes pieces that were longer than `PIECE_LIMIT`.

    Attributes:
        line: the number of the next line.
        overlong: the first line of them, and how many there were: `shortened`.
    """

    def __init__(self) -> None:
        self.overlong: int | None = None
        self.shortened = 0
        self.line = 1
        self._tail = b""
        self._head: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> Iterator[Block]:
        """Blocks of the pieces that the new bytes complete."""
        data = self._as_utf8(data)
        for start in range(0, len(data), _SLICE):
            yield from self._cut(data[start : start + _SLICE])

    def close(self) -> Iterator[Block]:
        """The piece at the end that no terminator closes."""
        head, self._head = self._head, None
        if head:
            yield from self._cut(head)
        if self._decoder is not None:
            yield from self._cut(self._decoder.decode(b"", True).encode())
        if self._tail:
            yield from self._cut(b"\n")

    def _as_utf8(self, data: bytes) -> bytes:
        """The bytes as UTF-8; the first three say whether they are UTF-16."""
        if self._head is not None:
            self._head += data
            if len(self._head) < 3:
                return b""
            data, self._head = self._head, None
            if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                name = "utf-16-le" if data[:2] == codecs.BOM_UTF16_LE else "utf-16-be"
                self._decoder = codecs.getincrementaldecoder(name)("replace")
                data = data[2:]
            elif data[:3] == codecs.BOM_UTF8:
                data = data[3:]
        if self._decoder is not None:
            return self._decoder.decode(data).encode()
        # of UTF-16 that a shell appended to a log in UTF-8, and of holes in a file
        return data.replace(b"\0", b"") if b"\0" in data else data

    def _cut(self, data: bytes) -> Iterator[Block]:
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end == 0:
            self._hold(data)
            return
        whole = b"".join((self._tail, memoryview(data)[:end]))
        self._tail = b""
        self._hold(data[end:])
        yield self._block(whole)

    def _hold(self, data: bytes) -> None:
        """Keeps the torn end; one byte past the limit is enough to know that it is overlong."""
        self._tail = (self._tail + data[: PIECE_LIMIT + 1])[: PIECE_LIMIT + 1]

    def _block(self, data: bytes) -> Block:
        ends = _ends(data)
        if ends[0] > PIECE_LIMIT or (ends[1:] - ends[:-1]).max(initial=0) > PIECE_LIMIT + 1:
            data = self._shortened(data, ends)
            ends = _ends(data)
        first, feeds = self.line, None
        if b"\r" in data:
            after = np.cumsum(np.frombuffer(data, np.uint8)[ends] == 10)
            feeds = np.concatenate(([0], after[:-1]))
            self.line += int(after[-1])
        else:
            self.line += len(ends)
        return Block(data, ends, first, feeds)

    def _shortened(self, data: bytes, ends: NDArray[np.int64]) -> bytes:
        """The block with no more than the beginning of an overlong piece."""
        starts = np.concatenate(([0], ends[:-1] + 1))
        long = ends - starts > PIECE_LIMIT
        self.shortened += int(np.count_nonzero(long))
        if self.overlong is None:
            row = int(np.argmax(long))
            self.overlong = self.line + data.count(b"\n", 0, int(starts[row]))
        pieces = zip(starts.tolist(), ends.tolist(), strict=True)
        return b"".join(data[a : min(b, a + PIECE_LIMIT)] + data[b : b + 1] for a, b in pieces)


def cleaned(raw: bytes) -> str:
    """Text without escape codes, backspaces and NUL; what is no UTF-8 becomes a replacement character,
    `1.#IND` a NaN."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if "\x08" in text or "\x00" in text:
        text = text.replace("\x08", "").replace("\x00", "")
    return _NO_NUMBER.sub(_spelt, text) if "1.#" in text else text


def _spelt(found: re.Match[str]) -> str:
    return f"{found.group(1)}{'inf' if found.group(2) == 'INF' else 'nan'}"


def _ends(data: bytes) -> NDArray[np.int64]:
    """Where the pieces of a block end, shape [pieces]."""
    raw = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(raw == 10)
    if b"\r" not in data:
        return feeds
    return np.sort(np.concatenate((feeds, np.flatnonzero(raw == 13))), kind="stable")
