"""TFRecord framing: cuts a stream of bytes into records, and finds the way back after damage.

A record is: length (u64), masked CRC of the length (u32), payload, masked CRC of the payload (u32), all
little-endian.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hrmdoc.readers.events import crc
from hrmdoc.readers.support.budget import MAX_RECORD

HEADER = 12
FOOTER = 4
_MAX_RECUTS = 64  # of one block
_MAX_SEARCHES = 2000  # damage beyond this is hostile, and not worth the time
_LEAP_AGAIN = 256  # records between two looks for a pattern, which may have half as many
_LEAP_ROUNDS = 4
_MATRIX_FROM = 16  # shorter records than the next are compared when there are so many
_COMPARED_LENGTH = 8192  # of longer ones each is summed up: tables for so many differing bytes cost more
_LONG_FROM = 4
_WORD = 8


class Block(Struct):
    """Whole records inside `data`.

    Attributes:
        data: the bytes.
        base: offset of data[0] in the file.
        starts: where each payload begins in `data`.
        lengths: the length of each payload.
        rows: payload length -> (positions in `starts`, the payloads as a matrix [n, length]), for lengths
            that occur often.
        lost: (offset in the file, number of bytes) of stretches that hold no record.
    """

    data: bytes
    base: int
    starts: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    rows: dict[int, tuple[NDArray[np.int64], NDArray[np.uint8]]] = field(default_factory=dict)


class Framer:
    """Takes bytes, gives blocks of whole records; keeps the torn end."""

    def __init__(self) -> None:
        self._rest = b""
        self._base = 0
        self._lost_from: int | None = None
        self._headers: dict[bytes, int] = {}
        self._searches = 0

    @property
    def torn(self) -> int:
        """How many bytes wait for the rest of their record."""
        return len(self._rest)

    @property
    def offset(self) -> int:
        """Offset of the first waiting byte."""
        return self._base

    def feed(self, data: bytes, final: bool = False) -> Block:
        """The records that the new bytes complete. `final`: no more will come, so a torn record is searched
        for whole ones."""
        block = Block(self._rest + data if self._rest else data, self._base)
        at = self._cut(block, 0, final)
        if bad := _verify(block, 0):
            at = self._repair(block, bad, at, final)
        self._rest = block.data[at:]
        self._base += at
        return block

    def _repair(self, block: Block, bad: list[int], at: int, final: bool) -> int:
        """Takes records with a wrong CRC out; where another begins inside one, everything after is cut anew
        from there."""
        dropped: set[int] = set()
        for attempt in range(_MAX_RECUTS + 1):
            recut = -1
            for number in bad:
                if not final and block.starts[number] + block.lengths[number] + FOOTER + HEADER - 1 > len(
                    block.data
                ):
                    at = (
                        block.starts[number] - HEADER
                    )  # a header may begin in its last bytes, so it waits for more
                    del block.starts[number:], block.lengths[number:]
                    break
                self._searches += 1
                inside = (
                    _headers_inside(block, number)
                    if attempt < _MAX_RECUTS and self._searches < _MAX_SEARCHES
                    else []
                )
                if inside:
                    at, recut = self._recut(block, number, inside[0], final), number
                    break
                block.lost.append(
                    (block.base + block.starts[number] - HEADER, HEADER + block.lengths[number] + FOOTER)
                )
                dropped.add(number)
            if recut < 0:
                break
            bad = _verify(block, recut)
        kept = [number for number in range(len(block.starts)) if number not in dropped]
        block.starts = [block.starts[number] for number in kept]
        block.lengths = [block.lengths[number] for number in kept]
        block.lost.sort()
        _verify(block, 0)
        return at

    def _recut(self, block: Block, number: int, begin: int, final: bool) -> int:
        lost_from = block.base + block.starts[number] - HEADER
        del block.starts[number:], block.lengths[number:]
        block.lost = [lost for lost in block.lost if lost[0] < lost_from]
        self._lost_from = lost_from
        return self._cut(block, begin, final)

    def _cut(self, block: Block, at: int, final: bool) -> int:
        """Adds the records from `at` on to `block`; where the first waiting byte lies."""
        data, size = block.data, len(block.data)
        headers, starts, lengths = self._headers, block.starts, block.lengths
        leap_at = len(starts) + _LEAP_AGAIN
        while size - at >= HEADER:
            length = headers.get(data[at : at + HEADER], -1)
            if length < 0:
                length = self._length(data, at)
            end = at + HEADER + length + FOOTER
            if length < 0 or (final and end > size):
                at = self._resync(block, at, final)
                continue
            if end > size:
                break
            if self._lost_from is not None:
                block.lost.append((self._lost_from, block.base + at - self._lost_from))
                self._lost_from = None
            starts.append(at + HEADER)
            lengths.append(length)
            at = end
            if len(starts) >= leap_at:
                leapt = _leap(block, at)
                leap_at = len(starts) + (_LEAP_AGAIN if leapt > at else 4 * _LEAP_AGAIN)
                at = leapt
        if not final:
            return at
        lost = block.base + at if self._lost_from is None else self._lost_from
        if lost < block.base + size:
            block.lost.append((lost, block.base + size - lost))
        return size

    def _length(self, data: bytes, at: int) -> int:
        """The payload length in the header at `at`, or -1 when its CRC is wrong. Right headers are
        remembered."""
        length = int.from_bytes(data[at : at + 8], "little")
        if length > MAX_RECORD or crc.masked(data[at : at + 8]) != int.from_bytes(
            data[at + 8 : at + HEADER], "little"
        ):
            return -1
        if len(self._headers) < 65536:
            self._headers[data[at : at + HEADER]] = length
        return length

    def _resync(self, block: Block, at: int, final: bool) -> int:
        """The next place where a header lies, or where to go on when more bytes have come."""
        if self._lost_from is None:
            self._lost_from = block.base + at
        size, window = len(block.data), 256
        self._searches += 1
        if self._searches > _MAX_SEARCHES:
            return size - HEADER + 1
        begin = at + 1
        while size - begin >= HEADER:
            found = headers_in(block.data, begin, min(begin + window + HEADER - 1, size))
            whole = (
                f for f in found if not final or f + HEADER + self._length(block.data, f) + FOOTER <= size
            )
            if (first := next(whole, None)) is not None:
                return first
            begin, window = begin + window, min(2 * window, 1 << 20)
        return size - HEADER + 1


def _leap(block: Block, at: int) -> int:
    """Adds whole rounds of records at once where their lengths repeat; where to go on.

    A training loop writes the same metrics round after round, so the headers of the next round are known
    before it is read.
    """
    lengths = block.lengths
    seen = lengths[-_LEAP_AGAIN:]
    period = next((n for n in range(1, _LEAP_AGAIN // 2) if seen[n:] == seen[:-n]), 0)
    if not period:
        return at
    sizes = np.array(lengths[-period:], np.int64) + HEADER + FOOTER
    stride, places = int(sizes.sum()), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rounds = (len(block.data) - at) // stride
    if rounds < _LEAP_ROUNDS:
        return at
    before = np.array(block.starts[-period:], np.int64) - HEADER
    offsets = at + (np.arange(rounds, dtype=np.int64)[:, None] * stride + places)
    known = _cut_out(block.data, before, HEADER).view("<u4").ravel()
    same = (_cut_out(block.data, offsets.ravel(), HEADER).view("<u4").reshape(rounds, -1) == known).all(
        axis=1
    )
    whole = rounds if same.all() else int(np.argmin(same))
    block.starts += (offsets[:whole] + HEADER).ravel().tolist()
    block.lengths += lengths[-period:] * whole
    return at + whole * stride


def _cut_out(data: bytes, starts: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """The `length` bytes from each start on, shape [n, length]. Items of one opaque type are copied faster
    than rows are."""
    windows = np.ndarray((len(data) - length + 1,), f"V{length}", data, strides=(1,))
    return windows[starts].view(np.uint8).reshape(-1, length)


def headers_in(data: bytes, start: int, stop: int) -> list[int]:
    """Offsets in data[start:stop] at which a whole, right header begins."""
    if stop - start < HEADER:
        return []
    view = np.frombuffer(data, np.uint8, stop - start, start)
    windows = np.lib.stride_tricks.sliding_window_view(view, HEADER)
    likely = np.flatnonzero(
        (windows[:, 4] == 0) & (windows[:, 5] == 0) & (windows[:, 6] == 0) & (windows[:, 7] == 0)
    )
    rows: NDArray[np.uint8] = np.ascontiguousarray(windows[likely])
    if not len(rows):
        return []
    written = crc.unmask(np.ascontiguousarray(rows[:, 8:]).view("<u4").ravel())
    right = crc.of_similar(np.ascontiguousarray(rows[:, :8]), tuple(range(8))) == written
    small = np.ascontiguousarray(rows[:, :8]).view("<u8").ravel() <= MAX_RECORD
    return [int(offset) + start for offset in likely[right & small]]


def _headers_inside(block: Block, number: int) -> list[int]:
    """Where another record may begin inside record `number`."""
    start, end = block.starts[number], block.starts[number] + block.lengths[number] + FOOTER
    return headers_in(block.data, start - HEADER + 1, min(end + HEADER - 1, len(block.data)))


def _verify(block: Block, first: int) -> list[int]:
    """Which records from number `first` on have a wrong payload CRC. Fills `block.rows` with the frequent
    lengths."""
    block.rows = {}
    starts, lengths = np.array(block.starts[first:], np.int64), np.array(block.lengths[first:], np.int64)
    order = np.argsort(lengths, kind="stable")
    cuts = np.flatnonzero(np.diff(lengths[order])) + 1
    bad: list[int] = []
    for group in np.split(order, cuts) if len(order) else ():
        length = int(lengths[group[0]])
        long = length > _COMPARED_LENGTH
        if long or len(group) < _MATRIX_FROM or not length:
            bad += [first + int(n) for n in group if not _sound(block.data, int(starts[n]), length)]
            if long and len(group) >= _LONG_FROM:
                block.rows[length] = first + group, _cut_out(block.data, starts[group], length)
            continue
        ahead = (
            -(length + FOOTER) % _WORD
        )  # bytes of the header, the same for one length, make whole words of a row
        words = _cut_out(block.data, starts[group] - ahead, ahead + length + FOOTER).view("<u8")
        rows = words.view(np.uint8)
        payloads = rows[:, ahead : ahead + length]
        changes = [np.bitwise_or.reduce(column ^ column[0]) for column in words.T]
        differing = np.array(changes, "<u8").view(np.uint8)[ahead : ahead + length]
        varying = tuple(np.flatnonzero(differing).tolist())
        written = crc.unmask(np.ascontiguousarray(rows[:, ahead + length :]).view("<u4").ravel())
        bad += (first + group[crc.of_similar(payloads, varying) != written]).tolist()
        block.rows[length] = first + group, payloads
    return sorted(bad)


def _sound(data: bytes, start: int, length: int) -> bool:
    end = start + length
    return crc.masked(data[start:end]) == int.from_bytes(data[end : end + FOOTER], "little")
