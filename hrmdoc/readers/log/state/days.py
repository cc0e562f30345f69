"""Days of a log whose stamps are times of day alone: they are counted from the first one on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.log.lines.clocks import DAY

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_BACK = 3_600.0
"""A clock that is up to so many seconds earlier than on the line before was put back, or is of another
process; one that is earlier by more has passed midnight."""
_BEGINNING = 600.0
"""One that begins within so many seconds of zero counts from the start of its program, and from each anew."""


class Days:
    """Makes times of day go on over midnight.

    The days of a log are counted where the first stamp of its points is a time of day; what bears a date in
    it counts by its time of day as well. In any other log a time of day tells nothing.
    """

    def __init__(self) -> None:
        self._counted: bool | None = None
        self._elapsed = False
        self._last = math.nan

    def counted(self, orders: Sequence[Ints], times: Sequence[Floats]) -> Sequence[Floats]:
        """The times of some points, which stand at places of the log; each call goes on where the last one
        ended."""
        if not times:
            return times
        if not self._counted and not any((some < DAY).any() for some in times):
            if self._counted is None and any(np.isfinite(some).any() for some in times):
                self._counted = False
            return times
        found = self._going_on(np.concatenate(orders), np.concatenate(times))
        return np.split(found, np.cumsum([len(some) for some in times])[:-1])

    def _going_on(self, orders: Ints, times: Floats) -> Floats:
        known = np.flatnonzero(np.isfinite(times))
        known = known[np.argsort(orders[known], kind="stable")]
        if self._counted is None:
            first = float(times[known[0]])
            self._counted, self._elapsed = first < DAY, first < _BEGINNING
        if not self._counted:
            return np.where(times < DAY, math.nan, times)
        clocks = times[known] % DAY
        start = self._last if math.isfinite(self._last) else float(clocks[0])
        passed = np.diff(clocks, prepend=start % DAY)
        if self._elapsed:
            passed = np.where(passed < -_BEGINNING, clocks, passed)
        else:
            passed[passed < -_BACK] += DAY
        times[known] = start + np.cumsum(passed)
        self._last = float(times[known[-1]]) if len(known) else self._last
        return times
