"""What became of a series as a whole: what it gained, what of that it kept, how far its end is from its best.

A shape on the way, a spike or a swing, matters as far as it changed that.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from msgspec import Struct

from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

FEWEST = 6
"""Points below which there is no end that could be told from the beginning."""
BLOCKS = 24
"""Medians of so many stretches stand for a longer series, so that single points decide nothing."""
RECENT = 8
"""Points at either end that count by themselves where they leave the scatter."""
NOISES = 3.0
"""Distance in units of the noise below which two levels are the same."""

Goal = Literal["min", "max"]


class Outcome(Struct, frozen=True):
    """The course of a series, turned so that lower is better; a level is a median over several points.

    Attributes:
        opening: the level at which it began.
        best: the best level it reached.
        end: the level at which it stands.
        noise: the usual distance of a level from its neighbours, as a standard deviation.
        since: share of the series behind the best level.
        thrown: share of the last third as far behind the opening as the best lies before it.
        wasted: share of the levels at which half of what had been gained until then was gone.
    """

    opening: float
    best: float
    end: float
    noise: float
    since: float
    thrown: float
    wasted: float

    @property
    def gain(self) -> float:
        """From the opening to the best."""
        return self.opening - self.best

    @property
    def gained(self) -> float:
        """From the opening to the best, as a share of the opening."""
        if self.opening:
            return self.gain / abs(self.opening)
        return math.inf if self.gain > 0 else 0.0

    @property
    def kept(self) -> float:
        """Share of the gain that is there at the end, below 0 where it ends behind its opening."""
        return (self.opening - self.end) / self.gain if self.gain > 0 else float(self.end <= self.opening)

    @property
    def distance(self) -> float:
        """From the best to the end, in units of the noise."""
        gap = self.end - self.best
        if self.noise > 0:
            return gap / self.noise
        return math.inf if gap > 0 else 0.0

    @property
    def rise(self) -> float:
        """From the best to the end, as a share of the best."""
        gap = self.end - self.best
        if self.best:
            return gap / abs(self.best)
        return math.inf if gap > 0 else 0.0


def outcome(values: FloatArray, goal: Goal = "min", fewest: int = FEWEST) -> Outcome | None:
    """The outcome of a series, shape [n], as far as it goes; None below `fewest` finite points.

    Args:
        values: in the order of training.
        goal: whether lower or higher is better.
        fewest: three at least, below which there is no noise.
    """
    finite = values[np.isfinite(values)] * (1.0 if goal == "min" else -1.0)
    if len(finite) < fewest:
        return None
    levels = _levels(finite)
    best = int(levels.argmin())
    opening, end = float(levels[0]), middle(levels[-max(1, len(levels) // 8) :])
    if len(levels) < len(finite):  # within a stretch, what leaves the scatter of the points shows
        scatter = NOISES * _scatter(finite)
        first, last = middle(finite[:RECENT]), middle(finite[-RECENT:])
        opening = first if first - opening > scatter else opening
        end = last if last - end > scatter else end
    noise = _noise(levels)
    early = float(finite[: 1 + len(finite) // BLOCKS].max())
    return Outcome(
        opening=opening,
        best=float(levels[best]),
        end=end,
        noise=noise,
        since=(len(levels) - 1 - best) / (len(levels) - 1),
        thrown=_thrown(finite, max(2.0 * opening - float(levels[best]), early)),
        wasted=_wasted(levels, opening, NOISES * noise),
    )


def _levels(values: FloatArray) -> FloatArray:
    """Medians of `BLOCKS` stretches of equal length, or the values themselves where there are hardly more."""
    if len(values) < 2 * BLOCKS:
        return values
    return np.array([middle(part) for part in np.array_split(values, BLOCKS)])


def _thrown(values: FloatArray, limit: float) -> float:
    """Share of the last third beyond the limit."""
    return float(np.mean(values[-max(1, len(values) // 3) :] > limit))


def _wasted(levels: FloatArray, opening: float, noise: float) -> float:
    """Share of the levels that lie beyond the noise and half of the gain above the best one before them."""
    best = np.minimum.accumulate(levels)
    return float(np.mean(levels - best > np.maximum(0.5 * (opening - best), noise)))


def _noise(levels: FloatArray) -> float:
    """Standard deviation of the noise by second differences, which a steady rise or fall leaves at zero."""
    return 1.4826 * middle(np.abs(np.diff(levels, 2))) / math.sqrt(6.0)


def _scatter(values: FloatArray) -> float:
    """Standard deviation of single points about their neighbours, by the ninth decile: tails are heavy."""
    return float(np.quantile(np.abs(np.diff(values)), 0.9)) / (1.645 * math.sqrt(2.0))
