"""Where points stand: step, time and line of each.

The metrics of one row stand at one place, and a table of twenty metrics has the same places twenty times. So
series share them for as long as their readers hand over the very same arrays, which costs a comparison of
identity a block; a series that goes another way gets a copy of its own.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.record.columns import Column
from hrmdoc.record.records import FloatArray, IntArray, Points


class Positions:
    """Steps, times and lines of points in order of arrival; arrays grow at amortised constant cost.

    Attributes:
        size: how many there are.
    """

    __slots__ = ("_copied", "_last", "_lines", "_origin", "_steps", "_times", "size")

    def __init__(self) -> None:
        self.size = 0
        self._steps = Column(np.int64)
        self._times = Column(np.float64)
        self._lines = Column(np.int64, (0, 1))
        self._last: Points | None = None
        """The points that came last."""
        self._origin: Positions | None = None
        """The one of which this was a copy before `_last` was added."""
        self._copied: Positions | None = None
        """The same, while nothing was added yet."""

    def steps(self, size: int) -> IntArray:
        """The first `size` steps."""
        return self._steps.first(size)

    def times(self, size: int) -> FloatArray:
        """The first `size` times, Unix seconds or NaN."""
        return self._times.first(size)

    def lines(self, size: int) -> IntArray:
        """The first `size` lines, -1 for an unknown one."""
        return self._lines.first(size)

    def line(self, index: int, size: int) -> int:
        """The line of one of the first `size`, -1 for an unknown one; a negative index counts from their
        end."""
        return int(self._lines.at(index, size))

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

    def last(self, count: int, size: int) -> Positions:
        """The last ones of the first `size`, as others."""
        own, rows = Positions(), slice(size - count, size)
        own._steps.extend(0, self.steps(size)[rows].copy())
        own._times.extend(0, self.times(size)[rows].copy())
        own._lines.extend(0, self.lines(size)[rows].copy())
        own.size = count
        return own

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
        own._steps, own._times = self._steps.copy(size), self._times.copy(size)
        own._lines = self._lines.copy(size)
        own.size, own._copied = size, self
        return own

    def _extend(self, points: Points) -> None:
        n, size = len(points.values), self.size
        if n:
            self._steps.extend(size, points.steps)
            self._times.extend(size, points.times)
            self._lines.extend(size, np.full(n, -1) if points.lines is None else points.lines)
        self.size, self._last = size + n, points
        self._origin, self._copied = self._copied, None
