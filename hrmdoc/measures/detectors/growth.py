"""Exponential growth or decay."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail

SMALLEST = 1e-45  # magnitudes below the smallest float32 count as this


class Growth(Detector):
    """Powers of ten by which the magnitude grows (negative: shrinks) over the last `window` points.

    The slope of a least-squares line through the logarithms, drawn towards zero by two standard errors, so
    that scatter and single outliers are no growth. NaN before there are `window` points.

    Args:
        window: points the line is fitted to.
    """

    NAME = "growth"

    def __init__(self, *, window: int = 24) -> None:
        if window < 5:
            raise ValueError("window is at least 5")
        self._window = window
        self._logs = Tail(window - 1)

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        joined, _ = self._logs.join(np.log10(np.maximum(np.abs(values), SMALLEST)))
        scores = np.full(len(values), np.nan)
        if len(joined) < self._window:
            return scores
        windows = np.lib.stride_tricks.sliding_window_view(joined, self._window)
        known = min(len(values), len(windows))
        scores[-known:] = self._grown(windows[-known:])
        return scores

    def _grown(self, rows: FloatArray) -> FloatArray:
        n = self._window
        place = np.arange(n) - (n - 1) / 2
        spread = float((place**2).sum())
        centred = rows - rows.mean(axis=1, keepdims=True)
        slope = (centred * place).sum(axis=1) / spread
        rest = (centred**2).sum(axis=1) - slope**2 * spread
        error = np.sqrt(np.maximum(rest, 0.0) / (n - 2) / spread)
        grown: FloatArray = np.sign(slope) * np.maximum(np.abs(slope) - 2.0 * error, 0.0) * (n - 1)
        return grown
