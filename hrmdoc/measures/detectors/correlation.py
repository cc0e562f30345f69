"""Whether two roles move together."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.detectors.trend import kendall
from hrmdoc.measures.pyramid import Pyramid, WholeSeries, edges


class Correlation(WholeSeries):
    """Kendall's rank correlation of two roles over the run; 0 unless both have moved materially.

    Args:
        material: relative change from start to now that counts as having moved.
    """

    NAME = "correlation"
    COLUMNS = 2

    def __init__(self, *, material: float = 0.1) -> None:
        super().__init__()
        self._material = material

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 8:
            return float("nan")
        for column in (0, 1):
            start, now = edges(blocks.means[:, column])
            if abs(now - start) < self._material * max(abs(start), abs(now), 1e-12):
                return 0.0
        return kendall(np.ascontiguousarray(blocks.means[:, 0]), np.ascontiguousarray(blocks.means[:, 1]))
