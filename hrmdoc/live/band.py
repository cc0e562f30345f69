"""What is usual of a row of numbers: the range of the last ones, and how they drift."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

TAIL = 64
"""Numbers that say what is usual: some minutes of most runs."""
MARGIN = 0.5
"""Of the range of the tail, by which a number may leave it: of normal noise one in a million does."""
SLACK = 1e-3
"""And by this share of its magnitude, where the tail is constant."""


class Band:
    """The band of some numbers.

    Args:
        tail: the last numbers, `TAIL` at most.
    """

    __slots__ = ("_at", "_drift", "_high", "_last", "_low", "_moves", "_zeros")

    def __init__(self, tail: Sequence[float]) -> None:
        finite = [value for value in tail if math.isfinite(value)]
        self._low = self._high = self._drift = 0.0
        if len(finite) < max(1, len(tail)):
            self._low, self._high = -math.inf, math.inf  # it is not finite already: nothing is new about that
        elif finite:
            self._measure(finite)
        self._zeros = 0.0 in finite
        self._last = tail[-1] if tail else math.nan
        self._at = 0
        # of rounded ones some are the same by chance
        self._moves = 1 < len(finite) == len(set(finite))

    def _measure(self, tail: Sequence[float]) -> None:
        low, high = min(tail), max(tail)
        half = len(tail) // 2
        if half:
            self._drift = (sum(tail[half:]) / (len(tail) - half) - sum(tail[:half]) / half) / half
        room = MARGIN * (high - low) + SLACK * max(abs(low), abs(high))
        self._low, self._high = low - room, high + room

    def is_left_by(self, values: Iterable[float]) -> bool:
        """Whether one of the numbers that came next leaves the band, is zero where none was, or repeats the
        last where no two of the others were the same."""
        if math.isinf(self._high):
            return False
        low, high, drift, at = self._low, self._high, self._drift, self._at
        for value in values:
            at += 1
            stands, self._last = self._moves and value == self._last, value
            bottom, top = (low, high + drift * at) if drift > 0 else (low + drift * at, high)
            if stands or not bottom <= value <= top or (value == 0.0 and not self._zeros):
                return True
        self._at = at
        return False
