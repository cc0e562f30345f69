"""A model that guesses."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle


class Chance(WholeSeries):
    """Relative distance of the trailing part of the run from what guessing among K classes gives: ln K, or
    1/K for accuracy.

    The smallest over the candidates for K; within it nine tenths of the blocks must lie. A loss that scatters
    widely inside its blocks is not guessing, whatever its mean.

    Args:
        classes: K, or several candidates; without any, nothing is judged.
        of: what is watched, a cross-entropy `loss` or an `accuracy`.
        share: trailing share of the run that is looked at.
        scatter: largest relative scatter inside the blocks.
    """

    NAME = "chance"

    def __init__(
        self,
        *,
        classes: float | tuple[float, ...] = (),
        of: Literal["loss", "accuracy"] = "loss",
        share: float = 0.6,
        scatter: float = 0.15,
    ) -> None:
        super().__init__()
        candidates = classes if isinstance(classes, tuple) else (classes,)
        if any(k < 2 for k in candidates):
            raise ValueError("classes is at least 2")
        self._guessing = [math.log(k) if of == "loss" else 1.0 / k for k in candidates]
        self._share = share
        self._scatter = scatter

    def judge(self, blocks: Pyramid) -> float:
        width = max(1, round(self._share * blocks.count))
        if blocks.count < 6 or not self._guessing:
            return float("nan")
        values = blocks.means[-width:, 0]
        most = max(0, math.ceil(0.9 * width) - 1)
        inside = math.sqrt(middle(blocks.variances[-width:, 0]))
        distances = [
            float(np.sort(np.abs(values - guess))[most]) / guess
            for guess in self._guessing
            if inside <= self._scatter * guess
        ]
        return min(distances, default=1.0)
