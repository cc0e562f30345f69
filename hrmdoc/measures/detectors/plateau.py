"""A long stretch without improvement in a run that has gained hardly anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, edges, noise

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray

FULL_LENGTH = 200  # points over which the whole improvement is asked for
HIDING = 3.0  # noise of so many times the improvement hides it
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)


class Plateau(WholeSeries):
    """The longest trailing share of the run over which the level did not improve materially, 0 where nothing
    is wrong.

    Nothing is wrong when the run has gained enough already (it may have converged), when the level is low
    enough, when it rises (that is divergence), or when the noise hides an improvement of the size looked for.
    The first and the last third of the stretch are compared, so that a slow steady fall counts as
    improvement, and so does the fall after a long plateau.

    Args:
        goal: whether lower or higher is better.
        improvement: smallest relative improvement over the stretch that counts.
        enough: relative gain since the start with which the run counts as having learned.
        good: level at which no improvement is expected any more.
        doubt: noise up to this share of the level hides nothing that matters; only a coarser one keeps the
            verdict back.
    """

    NAME = "plateau"

    def __init__(
        self,
        *,
        goal: Literal["min", "max"] = "min",
        improvement: float = 0.01,
        enough: float = 0.05,
        good: float | None = None,
        doubt: float = 0.0,
    ) -> None:
        super().__init__()
        self._sign = 1.0 if goal == "min" else -1.0
        self._improvement = improvement
        self._enough = enough
        self._good = good
        self._doubt = doubt

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 6:
            return float("nan")
        values = self._sign * blocks.means[:, 0]
        start, now = edges(values)
        size = max(abs(start), abs(now))
        scatter = noise(values)
        if self._good is not None and now <= self._sign * self._good:
            return 0.0
        if start - now >= self._enough * size or size == 0:
            return 0.0
        # a short series can only be asked for its part of the improvement
        material = self._improvement * size * min(1.0, blocks.count * blocks.size / FULL_LENGTH)
        return self._flat_share(values, material, scatter, max(HIDING * material, self._doubt * size))

    @staticmethod
    def _flat_share(values: FloatArray, material: float, scatter: float, bearable: float) -> float:
        total = np.concatenate([[0.0], np.cumsum(values)])
        n = len(values)
        for share in SHARES:
            length = round(share * n)
            third = length // 3
            if third == 0:
                break
            early = (total[n - length + third] - total[n - length]) / third
            late = (total[n] - total[n - third]) / third
            doubt = 2.0 * scatter * math.sqrt(2.0 / third)
            if doubt > bearable:
                break
            allowed = max(material, doubt)
            if -3.0 * allowed < early - late < allowed:
                return share
        return 0.0
