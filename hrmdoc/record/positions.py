"""Where points stand: step, time and line of each.

The metrics of one row stand at one place, and a table of twenty metrics has the same places twenty times. So
series share them for as long as their readers hand over the very same arrays, which costs a comparison of
identity a block; a series that goes another way gets a copy of its own.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hrmdoc.record.records import FloatArray, IntArray, Points

Number = TypeVar("Number", np.int64, np.float64)


class Positions:
    """Steps, times and lines of points in order of arrival; arrays grow at amortised constant cost.

    Attributes:
        size: how many there are.
    """

    __slots__ = ("_copied", "_last", "_lines", "_origin", "_steps", "_times", "size")

    def __init__(self) -> None:
        self.size = 0
        self._steps: IntArray = np.empty(16, np.int64)
        self._times: FloatArray = np.empty(16, np.float64)
        self._lines: IntArray = np.empty(16, np.int64)
        self._last: Points | None = None
        """The points that came last."""
        self._origin: Positions | None = None
        """The one of which this was a copy before `_last` was added."""
        self._copied: Positions | None = None
        """The same, while nothing was added yet."""

    def steps(self, size: int) -> IntArray:
        """The first `size` steps."""
        return self._steps[:size]

    def times(self, size: int) -> FloatArray:
        """The first `size` times, Unix seconds or NaN."""
        return self._times[:size]

    def lines(self, size: int) -> IntArray:
        """The first `size` lines, -1 for an unknown one."""
        return self._lines[:size]

    def extended(self, size: int, points: Points, beside: Positions | None) -> Positions:
        """Positions of which the first `size` are these and the next those of `points`.

        That is the same object, or the one `beside`, or a copy.
        """
        if self._goes_on(size, points):
            return self
        if beside is not None and (not size or beside._origin is self) and beside._goes_on(size, points):
            return beside
        whole = self if self.size == size else self._first(size)
        whole._extend(points)
        return whole

    def _goes_on(self, size: int, points: Points) -> bool:
        """Whether behind the first `size` positions stand those of `points`, and no others."""
        last = self._last
        return (
            last is not None
            and self.size == size + len(points.values)
            and last.steps is points.steps
            and last.times is points.times
            and last.lines is points.lines
        )

    def _first(self, size: int) -> Positions:
        """A copy of the first `size`."""
        own = Positions()
        own._steps, own._times = self._steps[:size].copy(), self._times[:size].copy()
        own._lines = self._lines[:size].copy()
        own.size, own._copied = size, self
        return own

    def _extend(self, points: Points) -> None:
        n, size = len(points.values), self.size
        if size + n > len(self._steps):
            capacity = max(2 * len(self._steps), size + n)
            self._steps = grown(self._steps, size, capacity)
            self._times = grown(self._times, size, capacity)
            self._lines = grown(self._lines, size, capacity)
        self._steps[size : size + n] = points.steps
        self._times[size : size + n] = points.times
        self._lines[size : size + n] = -1 if points.lines is None else points.lines
        self.size, self._last = size + n, points
        self._origin, self._copied = self._copied, None


def grown(old: NDArray[Number], size: int, capacity: int) -> NDArray[Number]:
    """An array of `capacity` items that begins with the first `size` of `old`."""
    new: NDArray[Number] = np.empty(capacity, old.dtype)
    new[:size] = old[:size]
    return new
