"""Values that are no numbers."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray


class NonFinite(Detector):
    """1 where the value is NaN or infinite, else 0."""

    NAME = "nonfinite"
    FINITE_ONLY = False

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        return (~np.isfinite(values)).astype(np.float64)
