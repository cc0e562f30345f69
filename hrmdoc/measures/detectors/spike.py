"""A sudden rise far beyond what the series usually does."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail, median_column, over_windows, upper_scale, window_ends

LEVEL_WINDOW, LEVEL_STRIDE = 11, 4
SCALE_STRIDE = 16
FIRST_PIECE, LAST_PIECE = 64, 8192
FARTHEST = 1000.0
"""The start of a series counts as no higher than so many times its level: what began astronomically high can
spike as well."""


class Spike(Detector):
    """How far the value lies above the recent median, in units of the usual upward scatter.

    From a score of `hold` on, median and scatter stay as they were before the rise until the series is back
    within `recovered`, so the length of the episode tells whether the spike passed fast, slowly or never. The
    scatter is never taken smaller than a share of the level, nor than a share of the progress made: what
    loses hardly anything is no spike. The progress counts up to a thousand times the level. The principle is
    that of modified z-scores (Iglewicz and Hoaglin) with a baseline that leaves out the current point, as in
    OLMo-core's SkipStep.

    Args:
        window: points whose scatter is the yardstick.
        floor: smallest scatter as a share of the level.
        progress_floor: smallest scatter as a share of the fall since the start of the series.
        least: points needed before the first judgement.
        hold: score that freezes the baseline.
        recovered: score at which the series counts as back.
    """

    NAME = "spike"

    def __init__(
        self,
        *,
        window: int = 64,
        floor: float = 0.05,
        progress_floor: float = 0.02,
        least: int = 8,
        hold: float = 8.0,
        recovered: float = 2.0,
    ) -> None:
        if window < 8 or least < 4 or recovered >= hold:
            raise ValueError("window is at least 8, least at least 4, and recovered is below hold")
        self._window = window
        self._floor = floor
        self._progress_floor = progress_floor
        self._least = least
        self._hold = hold
        self._recovered = recovered
        self._values = Tail(LEVEL_WINDOW + LEVEL_STRIDE)
        self._strays = Tail(window + SCALE_STRIDE)
        self._opening: list[float] = []
        self._frozen: tuple[float, float] | None = None

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        scores = np.empty(len(values))
        position, piece = 0, FIRST_PIECE
        while position < len(values):
            ahead = slice(position, position + piece)
            taken = (
                self._wait(values[ahead], scores[ahead])
                if self._frozen
                else self._judge(values[ahead], scores[ahead])
            )
            piece = FIRST_PIECE if taken < min(piece, len(values) - position) else min(2 * piece, LAST_PIECE)
            position += taken
        return scores

    def _wait(self, values: FloatArray, scores: FloatArray) -> int:
        """Fills `scores` against the frozen baseline up to the point at which the series is back, and returns
        their number."""
        assert self._frozen is not None
        level, scale = self._frozen
        raised = (values - level) / scale
        back = np.flatnonzero(raised <= self._recovered)
        count = int(back[0]) if len(back) else len(raised)
        scores[:count] = raised[:count]
        if len(back):
            self._frozen = None
        return count

    def _judge(self, values: FloatArray, scores: FloatArray) -> int:
        """Fills `scores` up to the first rise, takes the points before it into the baseline, and returns
        their number."""
        count, seen = len(values), self._values.seen
        if seen < self._least:
            count = min(count, self._least - seen)
            self._take(values[:count], self._levels(values[:count]))
            scores[:count] = np.nan
            return count
        level = self._levels(values)
        scale = self._scales(values - level, level)
        raised = (values - level) / scale
        rises = np.flatnonzero(raised >= self._hold)
        if len(rises):
            count = int(rises[0])
            self._frozen = (float(level[count]), float(scale[count]))
        scores[:count] = raised[:count]
        self._take(values[:count], level[:count])
        return count

    def _take(self, values: FloatArray, level: FloatArray) -> None:
        if len(self._opening) < 3:
            self._opening.extend(values[: 3 - len(self._opening)].tolist())
        strays = np.where(np.isnan(level), 0.0, values - level)
        self._values.join(values)
        self._strays.join(strays)

    def _levels(self, values: FloatArray) -> FloatArray:
        seen = self._values.seen
        joined, first = self._values.peek(values)
        ends = window_ends(seen, len(values), LEVEL_WINDOW, LEVEL_STRIDE)
        return over_windows(joined, first, ends, LEVEL_WINDOW, median_column)[:, 0]

    def _scales(self, strays: FloatArray, level: FloatArray) -> FloatArray:
        seen = self._strays.seen
        joined, first = self._strays.peek(strays)
        ends = window_ends(seen, len(strays), self._window, SCALE_STRIDE)
        usual = over_windows(joined, first, ends, self._window, upper_scale)[:, 0]
        start = sorted(self._opening)[len(self._opening) // 2]
        progress = np.maximum(np.minimum(start, FARTHEST * np.abs(level)) - level, 0.0)
        floor = np.maximum(self._floor * np.abs(level), self._progress_floor * progress)
        return np.maximum(np.maximum(usual, floor), 1e-12)
