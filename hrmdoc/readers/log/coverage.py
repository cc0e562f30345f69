"""Whether most numbers on the lines of a log were read, so that a log that is hardly understood says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hrmdoc.readers.log.lines.stream import Block

_NUMBER = re.compile(rb"(?<![\w.:,\-/])[-+]?\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.:\-/])")
"""A number with decimals that is no version, date, clock, path or unit; other digits make it no other."""
_PASSED_OVER = (b"%|", b"it/s", b"s/it", b"/step")
"""On lines of a bar: their rates are no measures, and redraws repeat them."""
_MOST_LINES = 20_000
_FEWEST = 50
_LEAST = 0.5


class Coverage:
    """Counts numbers on the lines of a log of at most 20,000 lines; of a longer one nothing is said."""

    def __init__(self) -> None:
        self._lines = 0
        self._numbers = 0
        self._open = 0
        """On what a line shows so far that no line feed has ended."""

    def see(self, block: Block, numbers: NDArray[np.int64] | None = None) -> None:
        """Takes in the pieces of a block, and how many numbers each holds where that is known, shape
        [pieces]."""
        if self._lines > _MOST_LINES:
            return
        count = len(block.ends)
        if numbers is None:
            pieces = block.data.replace(b"\r", b"\n").split(b"\n")[:count]
            numbers = np.fromiter(map(numbers_on, pieces), np.int64, count)
        starts, ends = block.bounds(np.arange(count))
        written = np.flatnonzero(ends > starts)
        lines = written if block.feeds is None else block.feeds[written]
        ended = block.data.count(b"\n")
        shown = np.zeros(ended + 1, np.int64)
        shown[0] = self._open
        shown[lines] = numbers[written]  # the last piece of a line stays: it wrote over those before it
        self._lines += ended
        self._numbers += int(shown[:-1].sum())
        self._open = int(shown[-1])

    def shortfall(self, points: int) -> str:
        """What to say when `points` were read: "" when that is most of it, or nothing at all, which is said
        elsewhere."""
        numbers = self._numbers + self._open
        if not points or self._lines > _MOST_LINES or numbers < _FEWEST:
            return ""
        if points >= _LEAST * numbers:
            return ""
        return f"of {numbers:,} numbers with decimals on its lines {points:,} were read as metrics"


def numbers_on(piece: bytes) -> int:
    """How many numbers a piece holds that may be measures."""
    counts = b"." in piece and not any(sign in piece for sign in _PASSED_OVER)
    return len(_NUMBER.findall(piece)) if counts else 0
