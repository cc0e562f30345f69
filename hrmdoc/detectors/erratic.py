"""One role jumps about while the other is steady."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.detectors.pyramid import Pyramid, WholeSeries, middle

if TYPE_CHECKING:
    from hrmdoc.detectors.base import FloatArray

OUTLIER = 3  # second differences that one outlier spoils


class Erratic(WholeSeries):
    """Relative jumps of the role from point to point, less three times those of the role beside it.

    Jumps are the root mean square of second differences over the last three quarters of the run, the three largest left out so
    that one outlier is none.
    """

    NAME = "erratic"
    COLUMNS = 2

    def __init__(self) -> None:
        super().__init__()

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 8:
            return float("nan")
        recent = blocks.means[blocks.count // 4 :]
        return max(self._jumps(recent[:, 0]) - 3.0 * self._jumps(recent[:, 1]), 0.0)

    @staticmethod
    def _jumps(values: FloatArray) -> float:
        bends = np.sort(np.abs(values[2:] - 2.0 * values[1:-1] + values[:-2]))[:-OUTLIER]
        if not len(bends):
            return 0.0
        return float(np.sqrt((bends**2).mean() / 6.0)) / max(middle(np.abs(values)), 1e-12)
