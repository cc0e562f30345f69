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
        known = min(len(values), len(joined) - self._window + 1)
        scores[-known:] = self._grown(joined[len(joined) - known - self._window + 1 :], known)
        return scores

    def _grown(self, logs: FloatArray, count: int) -> FloatArray:
        """The answers for the windows that begin at each of the first `count` logarithms, shape [count]: of
        all windows at once, place after place."""
        n = self._window
        place = np.arange(n) - (n - 1) / 2
        spread = float((place**2).sum())
        parts = [logs[at : at + count] for at in range(n)]
        mean = sum(parts[1:], parts[0]) / n
        slope, rest = np.zeros(count), np.zeros(count)
        for at, part in zip(place.tolist(), parts, strict=True):
            centred = part - mean
            slope += at * centred
            rest += centred * centred
        slope /= spread
        rest -= slope**2 * spread
        error = np.sqrt(np.maximum(rest, 0.0) / (n - 2) / spread)
        grown: FloatArray = np.sign(slope) * np.maximum(np.abs(slope) - 2.0 * error, 0.0) * (n - 1)
        return grown
