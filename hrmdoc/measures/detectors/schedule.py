"""The learning rate against the schedule that the configuration asks for."""

from __future__ import annotations

import math

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray

SLACK = 0.01
"""Share of the run left out around the ends of warmup and decay, where loggers differ by a step or two."""


class Schedule(Detector):
    """Distance of the value from the planned one after warmup, as a share of the peak; NaN for schedules not
    known here.

    Known are `constant`, `constant_with_warmup`, `linear` and `cosine`, as transformers defines them,
    decaying to `minimum` times the peak.

    Args:
        name: the schedule.
        peak: the configured learning rate.
        warmup: steps of warmup.
        total: planned steps.
        minimum: share of the peak at the end.
    """

    NAME = "schedule"

    def __init__(
        self,
        *,
        name: str = "constant",
        peak: float = 1.0,
        warmup: float = 0.0,
        total: float = 1.0,
        minimum: float = 0.0,
    ) -> None:
        if peak <= 0 or total <= 0:
            raise ValueError("peak and total are positive")
        self._name = name.lower()
        self._peak = peak
        self._warmup = warmup
        self._total = total
        self._minimum = minimum

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        passed = np.clip((steps - self._warmup) / max(self._total - self._warmup, 1.0), 0.0, 1.0)
        share = self._share(passed)
        judged = (steps > self._warmup + SLACK * self._total + 1) & (steps <= self._total)
        return np.where(judged, np.abs(values / self._peak - share), np.nan)

    def _share(self, passed: FloatArray) -> FloatArray:
        if self._name in ("constant", "constant_with_warmup"):
            return np.ones(len(passed))
        if self._name == "linear":
            return self._minimum + (1.0 - self._minimum) * (1.0 - passed)
        if self._name == "cosine":
            return self._minimum + (1.0 - self._minimum) * 0.5 * (1.0 + np.cos(math.pi * passed))
        return np.full(len(passed), np.nan)
