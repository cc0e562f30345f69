"""Much of what had been gained is lost at once."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail


class Relapse(Detector):
    """The rise above the lowest of the last few values, as a share of all that the series had gained since
    its start.

    0 unless the rise is `beyond` times the largest one of that kind seen before, so that a series may scatter
    as it always has, and unless the gain was material. Made for series of few points, in which no usual
    scatter can be estimated. From a score of `hold` on, level and gain stay as they were before the rise
    until the series is back at that level.

    Args:
        goal: whether lower or higher is better; of a reward, falls are meant.
        least: points needed before the first judgement, this one included.
        within: points that the rise may take.
        beyond: how many times the largest earlier rise it must be.
        material: gain, as a share of the first value, from which on there is something to lose.
        hold: score that freezes level and gain.
        small: a loss that starts below this counts as having started there, since what is nearly zero has
            little to lose.
    """

    NAME = "relapse"

    def __init__(
        self,
        *,
        goal: Literal["min", "max"] = "min",
        least: int = 4,
        within: int = 2,
        beyond: float = 4.0,
        material: float = 0.2,
        hold: float = 0.4,
        small: float = 0.3,
    ) -> None:
        if within < 1 or least < 2 or hold <= 0:
            raise ValueError("within is at least 1, least at least 2, and hold is positive")
        self._sign = 1.0 if goal == "min" else -1.0
        self._least = least
        self._within = within
        self._beyond = beyond
        self._material = material
        self._hold = hold
        self._small = small if goal == "min" else -np.inf
        self._values = Tail(2 * within)
        self._start = np.nan
        self._usual = 0.0
        self._frozen: tuple[float, float] | None = None

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        values = self._sign * values
        scores = np.empty(len(values))
        position = 0
        while position < len(values):
            judged = self._wait if self._frozen else self._judge
            position += judged(values[position:], scores[position:])
        return scores

    def _wait(self, values: FloatArray, scores: FloatArray) -> int:
        """Fills `scores` up to the point at which the series is back, and returns their number."""
        assert self._frozen is not None
        level, gain = self._frozen
        back = np.flatnonzero(values <= level)
        count = int(back[0]) if len(back) else len(values)
        scores[:count] = (values[:count] - level) / gain
        if len(back):
            self._frozen = None
        return count

    def _judge(self, values: FloatArray, scores: FloatArray) -> int:
        """Fills `scores` up to the first relapse, takes the points before it for the past, and returns their
        number."""
        seen = self._values.seen
        if seen == 0:
            self._start = float(values[0])
        joined, first = self._values.peek(values)
        known = np.concatenate([np.full(2 * self._within - (seen - first), np.inf), joined])
        lowest = np.lib.stride_tricks.sliding_window_view(known[:-1], self._within).min(axis=1)
        rises = np.maximum(known[self._within :] - lowest, 0.0)
        rises[~np.isfinite(rises)] = 0.0  # nothing lies before the first point
        usual = np.maximum.accumulate(np.concatenate([[self._usual], rises[: len(values)]]))[1:]
        level, rise = lowest[-len(values) :], rises[-len(values) :]
        gain = max(self._start, self._small) - level
        lost = (
            (self._start - level >= self._material * abs(self._start))
            & (gain > 0)
            & (rise > self._beyond * usual)
        )
        lost &= np.arange(seen, seen + len(values)) >= self._least - 1
        share = np.divide(rise, gain, out=np.zeros(len(values)), where=lost)
        share[: max(0, self._least - 1 - seen)] = np.nan
        relapses = np.flatnonzero(share >= self._hold)
        count = int(relapses[0]) if len(relapses) else len(values)
        if len(relapses):
            self._frozen = (float(level[count]), float(gain[count]))
        if count:
            self._values.join(values[:count])
            self._usual = float(usual[count - 1])
        scores[:count] = share[:count]
        return count
