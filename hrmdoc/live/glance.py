"""Whether new lines of a followed file are like those before them in all but their numbers, and those within
their usual bands.

To read two rows of a run costs hardly less than to read twenty, so of many runs that are followed at once
such lines are held back for some seconds and read together. A line of another wording, a value that leaves
its band, is not finite or repeats the last, and a counter that falls back are read at once, with all that was
held. This decides when lines are read, never what they say.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Sequence

from hrmdoc.live.band import TAIL, Band

LITTLE = 1 << 14
"""Bytes that may be held, and of which one look is worth it."""
FEWEST = 8
"""Lines of one wording, from which on it is known what is usual of them."""
_MOST_WORDINGS = 8
_MOST_NUMBERS = 64
_MOST_REST = 32
_NUMBER = re.compile(rb"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")

_Words = tuple[bytes, ...]


class Glance:
    """Holds lines back that are like those that it was shown.

    Attributes:
        size: bytes that are held.
    """

    def __init__(self) -> None:
        self._known: dict[_Words, _Wording] = {}
        self._held: list[bytes] = []
        self.size = 0
        self._torn = self._torn_read = b""
        self._misses = self._rest = 0

    def holds(self, block: bytes) -> bool:
        """Whether a block goes on as the lines before; then it is held."""
        if self._rest or not self._known or self.size + len(block) > LITTLE or b"\r" in block:
            self._rest = max(0, self._rest - 1)
            return False
        *lines, torn = (self._torn + block).split(b"\n")
        if not all(map(self._is_usual, lines)):
            self._misses += 1
            self._rest = min(_MOST_REST, self._misses // 4)
            return False
        self._held.append(block)
        self.size += len(block)
        self._torn, self._misses = torn, 0
        return True

    def release(self) -> bytes:
        """What was held, to be read now."""
        held = b"".join(self._held)
        self._held, self.size = [], 0
        return held

    def take(self, data: bytes, *, plain: bool) -> None:
        """Takes in what was read. `plain`: it gave points of metrics and nothing else."""
        *lines, torn = (self._torn_read + data[-LITTLE:]).split(b"\n")
        self._torn = self._torn_read = torn[:LITTLE]
        if not plain:
            self.forget()
        elif not self._rest and lines:
            self._learn(lines[-TAIL:] if len(data) <= LITTLE else lines[1:][-TAIL:])

    def forget(self) -> None:
        """Nothing is known of the lines that come."""
        self._known.clear()

    def _learn(self, lines: list[bytes]) -> None:
        for line in lines:
            words, numbers = _apart(line)
            if 0 < len(numbers) <= _MOST_NUMBERS:
                known = self._known.pop(words) if words in self._known else _Wording()
                self._known[words] = known
                known.rows.append(array("d", numbers))
        while len(self._known) > _MOST_WORDINGS:  # those that came last are at the end
            del self._known[next(iter(self._known))]
        for known in self._known.values():
            known.mark()

    def _is_usual(self, line: bytes) -> bool:
        words, numbers = _apart(line)
        known = self._known.get(words)
        return known is not None and known.goes_on(numbers)


class _Wording:
    """Lines that differ in their numbers alone: the last ones, number by number."""

    __slots__ = ("_bands", "_last", "_rising", "rows")

    def __init__(self) -> None:
        self.rows: deque[array[float]] = deque(maxlen=TAIL)
        self._bands: list[Band] = []
        self._rising: list[bool] = []
        self._last: Sequence[float] = ()

    def mark(self) -> None:
        """What is usual of them is what was so far."""
        if len(self.rows) < FEWEST:
            return
        columns = [*zip(*self.rows, strict=True)]
        self._bands = [Band(column) for column in columns]
        self._rising = [all(map(float.__lt__, column, column[1:])) for column in columns]
        self._last = self.rows[-1]

    def goes_on(self, numbers: Sequence[float]) -> bool:
        """Whether the next line is as usual."""
        if not self._bands:
            return False
        left = any(band.is_left_by((value,)) for band, value in zip(self._bands, numbers, strict=True))
        falls = any(
            rising and value <= last
            for rising, value, last in zip(self._rising, numbers, self._last, strict=True)
        )
        self._last = numbers
        return not left and not falls


def _apart(line: bytes) -> tuple[_Words, list[float]]:
    """The words of a line, and the numbers between them."""
    parts = _NUMBER.split(line)
    return tuple(parts[::2]), list(map(float, parts[1::2]))
