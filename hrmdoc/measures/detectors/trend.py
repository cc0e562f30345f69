"""A steady rise or fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray


class Trend(WholeSeries):
    """Relative change over the trailing part of the run, from its first third to its last; 0 unless it is
    steady.

    Steady means that Kendall's tau between value and time reaches `consistency`. Negative for a fall.

    Args:
        share: trailing share of the run that is looked at.
        consistency: Kendall's tau that is asked for.
    """

    NAME = "trend"

    def __init__(self, *, share: float = 0.75, consistency: float = 0.6) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError("share lies between 0 and 1")
        self._share = share
        self._consistency = consistency

    def judge(self, blocks: Pyramid) -> float:
        values = blocks.means[-max(1, round(self._share * blocks.count)) :, 0]
        third = len(values) // 3
        if third < 2:
            return float("nan")
        if abs(kendall(values, np.arange(len(values), dtype=np.float64))) < self._consistency:
            return 0.0
        early, late = float(values[:third].mean()), float(values[-third:].mean())
        return (late - early) / max(abs(early), 1e-12)


def kendall(first: FloatArray, second: FloatArray) -> float:
    """Kendall's rank correlation (tau-a: ties count as no agreement) of two short arrays, shape [n] with n >
    1."""
    agreement = np.sign(first[:, None] - first) * np.sign(second[:, None] - second)
    n = len(first)
    return float(agreement.sum()) / (n * (n - 1))
