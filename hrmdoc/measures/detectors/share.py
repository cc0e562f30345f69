"""How often something holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail, median_column, over_windows, window_ends


class Share(Detector):
    """Share of the last `window` points that fulfil the condition; NaN before there are as many.

    Exactly one of `above`, `below`, `near` and `above_median` tells the condition.

    Args:
        above: the value lies above this.
        below: the value lies below this.
        near: the value equals this within `tolerance`.
        above_median: the value is more than so many times the median of the window before it.
        tolerance: relative tolerance of `near`.
        window: points looked at.
        unit: divide values by this first.
    """

    NAME = "share"

    def __init__(
        self,
        *,
        above: float | None = None,
        below: float | None = None,
        near: float | None = None,
        above_median: float | None = None,
        tolerance: float = 0.005,
        window: int = 20,
        unit: float = 1.0,
    ) -> None:
        if (
            sum(bound is not None for bound in (above, below, near, above_median)) != 1
            or window < 1
            or unit <= 0
        ):
            raise ValueError(
                "one of above, below, near and above_median is needed,"
                " a window of at least 1 and a positive unit"
            )
        self._above = above
        self._below = below
        self._near = near
        self._above_median = above_median
        self._tolerance = tolerance
        self._window = window
        self._unit = unit
        self._values = Tail(2 * window)
        self._hits = Tail(window - 1)

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        hits, _ = self._hits.join(self._fulfilled(values / self._unit).astype(np.float64))
        counts = np.concatenate([[0.0], np.cumsum(hits)])
        scores = np.full(len(values), np.nan)
        known = min(len(values), len(hits) - self._window + 1)
        if known > 0:
            scores[-known:] = (counts[self._window :] - counts[: -self._window])[-known:] / self._window
        return scores

    def _fulfilled(self, values: FloatArray) -> NDArray[np.bool_]:
        if self._above is not None:
            return values > self._above
        if self._below is not None:
            return values < self._below
        if self._near is not None:
            return np.abs(values - self._near) <= self._tolerance * abs(self._near)
        assert self._above_median is not None
        seen = self._values.seen
        joined, first = self._values.join(values)
        ends = window_ends(seen, len(values), self._window, max(1, self._window // 4))
        usual = over_windows(joined, first, ends, self._window, median_column)[:, 0]
        return values > self._above_median * usual
