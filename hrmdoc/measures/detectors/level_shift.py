"""A step up to another level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import MAD_TO_SIGMA, Tail, median, over_windows, window_ends

if TYPE_CHECKING:
    from collections.abc import Callable

STRIDE = 4


class LevelShift(Detector):
    """How far the median of the last points lies above the median of as many points before them, in units of
    their scatter.

    Args:
        window: points on either side.
        floor: smallest scatter as a share of the level.
    """

    NAME = "level_shift"

    def __init__(self, *, window: int = 16, floor: float = 0.05) -> None:
        if window < 4:
            raise ValueError("window is at least 4")
        self._window = window
        self._floor = floor
        self._tail = Tail(2 * window + STRIDE)

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        width = 2 * self._window
        first_point = self._tail.seen
        joined, first = self._tail.join(values)
        ends = window_ends(first_point + 1, len(values), width, STRIDE)
        late = ends >= width
        scores = np.full(len(values), np.nan)
        if late.any():
            shift: Callable[[FloatArray], FloatArray] = self._shift
            scores[late] = over_windows(joined, first, ends[late], width, shift)[:, 0]
        return scores

    def _shift(self, rows: FloatArray) -> FloatArray:
        before, after = rows[:, : self._window], rows[:, self._window :]
        level, now = median(before), median(after)
        scatter = np.maximum(median(np.abs(before - level[:, None])), median(np.abs(after - now[:, None])))
        scale = np.maximum(MAD_TO_SIGMA * scatter, np.maximum(self._floor * np.abs(level), 1e-12))
        shifts: FloatArray = (now - level) / scale
        return shifts[:, None]
