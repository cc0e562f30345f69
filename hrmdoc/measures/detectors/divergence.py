"""A level that has risen well above its best and stays there."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hrmdoc.measures.base import FloatArray
from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle, noise, smooth
from hrmdoc.measures.sliding import sliding_median

SCATTERS = 3.0  # the best of many scattering blocks lies so many times their scatter below the level
LEVEL = 5  # points whose median is a level
RECOVERING = 0.8  # a rise that has shrunk to this part of itself is on its way back


class Divergence(WholeSeries):
    """The part of the level that was lost and stays lost: median of the last blocks above the best, over the
    best level.

    The denominator also holds a share of the progress made, so that a tenfold rise of a loss that is nearly
    zero weighs little. Usual scatter is taken off first, and a rise that is shrinking, from one such stretch
    to the next or within the last, counts as recovering.

    Args:
        goal: whether lower or higher is better.
        progress: share of the progress made that joins the denominator.
        sustained: share of the run (three blocks at least) over which the rise must last.
    """

    NAME = "divergence"

    def __init__(
        self, *, goal: Literal["min", "max"] = "min", progress: float = 0.2, sustained: float = 0.1
    ) -> None:
        super().__init__()
        self._sign = 1.0 if goal == "min" else -1.0
        self._progress = progress
        self._sustained = sustained

    def began(self, values: FloatArray) -> int:
        """Behind the last point at which the level was nearer to its best than to what it came to: the score
        waits until the rise has lasted."""
        last = len(values) - 1
        if last < LEVEL:
            return last
        levels = sliding_median(self._sign * values, LEVEL)
        best, reached = float(levels.min()), middle(self._sign * values[-max(LEVEL, len(values) // 20) :])
        low = np.flatnonzero(levels <= 0.5 * (best + reached))
        return min(last, int(low[-1]) + LEVEL // 2 + 1) if len(low) else last

    def judge(self, blocks: Pyramid) -> float:
        width = max(3, round(self._sustained * blocks.count))
        if blocks.count < width + 1:
            return float("nan")
        values = self._sign * blocks.means[:, 0]
        earlier, recent = values[:-width], values[-width:]
        best = float(smooth(earlier).min())
        start = max(middle(values[:3]), best)
        scatter = SCATTERS * noise(values)
        if float(recent.min()) <= best + scatter / SCATTERS:
            return 0.0
        excess, excess_before = middle(recent) - best, middle(values[-2 * width : -width]) - best
        third = width // 3
        peak_excess, end_excess = middle(recent[:third]) - best, middle(recent[-third:]) - best
        if excess < RECOVERING * excess_before or end_excess < RECOVERING * peak_excess:
            return 0.0
        yardstick = abs(best) + self._progress * (start - best)
        return max(excess - scatter, 0.0) / max(yardstick, 1e-12)
