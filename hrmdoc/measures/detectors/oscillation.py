"""Large swings without a trend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray


class Oscillation(WholeSeries):
    """Robust size of the swings about the straight line through the trailing part of the run, 0 when that
    line improves.

    Args:
        against: swings relative to the `level`, or those of the last third relative to those of the first
            (`past`).
        share: trailing share of the run that is looked at.
        trend: improvement over that part, as a multiple of the swings, from which on the swings are harmless.
        gain: improvement over that part, relative to the level, from which on they are.
    """

    NAME = "oscillation"

    def __init__(
        self,
        *,
        against: Literal["level", "past"] = "level",
        share: float = 0.75,
        trend: float = 1.0,
        gain: float = 0.1,
    ) -> None:
        super().__init__()
        self._against = against
        self._share = share
        self._trend = trend
        self._gain = gain

    def judge(self, blocks: Pyramid) -> float:
        width = round(self._share * blocks.count)
        third = width // 3
        if third < 3:
            return float("nan")
        means, variances = blocks.means[-width:, 0], blocks.variances[-width:, 0]
        place = np.arange(width) - (width - 1) / 2
        slope = float((place * means).sum() / (place**2).sum())
        rest = means - means.mean() - slope * place
        swings = self._swings(rest, variances)
        level = abs(middle(means))
        improved = -slope * (width - 1)
        if level == 0 or improved > self._trend * swings or improved > self._gain * level:
            return 0.0
        if self._against == "level":
            return swings / level
        before = self._swings(rest[:third], variances[:third])
        return self._swings(rest[-third:], variances[-third:]) / before if before > 0.02 * level else 0.0

    @staticmethod
    def _swings(rest: FloatArray, variances: FloatArray) -> float:
        between = 1.4826 * middle(np.abs(rest - middle(rest)))
        return math.sqrt(between**2 + middle(variances))
