"""A learning rate that is still on its way up."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray


class Rising(Detector):
    """Share of the planned steps that have passed while the value has only ever risen; 0 once it has fallen
    or never rose.

    Args:
        total: planned steps of the whole run.
    """

    NAME = "rising"

    def __init__(self, *, total: float = 1.0) -> None:
        if total <= 0:
            raise ValueError("total is positive")
        self._total = total
        self._first = np.nan
        self._highest = -np.inf
        self._fallen = False

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        if np.isnan(self._first):
            self._first = float(values[0])
        highest = np.maximum.accumulate(np.concatenate([[self._highest], values]))
        fallen = np.maximum.accumulate(values < highest[:-1] * (1 - 1e-6)) | self._fallen
        self._highest, self._fallen = float(highest[-1]), bool(fallen[-1])
        rising = ~fallen & (values > 1.02 * self._first) & (values > highest[:-1])
        return np.where(rising, steps / self._total, 0.0)
