"""One role as a share of another."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.sliding import sliding_median
from hrmdoc.measures.trailing import Tail


class Ratio(Detector):
    """Median over the last points of the role divided by the role beside it; NaN where that is not positive.

    Args:
        smooth: points of the median; NaN before there are as many.
    """

    NAME = "ratio"
    COLUMNS = 2

    def __init__(self, *, smooth: int = 9) -> None:
        if smooth < 1:
            raise ValueError("smooth is at least 1")
        self._smooth = smooth
        self._tail = Tail(smooth - 1)

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        scores = np.full(len(values), np.nan)
        usable = values[:, 1] > 0
        joined, _ = self._tail.join(values[usable, 0] / values[usable, 1])
        known = min(int(usable.sum()), len(joined) - self._smooth + 1)
        if known > 0:
            medians = sliding_median(joined[len(joined) - known - self._smooth + 1 :], self._smooth)
            scores[np.flatnonzero(usable)[-known:]] = medians
        return scores
