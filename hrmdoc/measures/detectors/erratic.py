"""One role jumps about while the other is steady."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray

PROGRESS = (
    0.2  # share of the progress made that joins the yardstick, so that jumps of a loss near zero weigh little
)
OUTLIER = 3  # second differences that one outlier spoils


class Erratic(WholeSeries):
    """Relative jumps of the role from point to point, less three times those of the role beside it.

    Jumps are the root mean square of second differences over the last three quarters of the run, the three
    largest left out so that one outlier is none.
    """

    NAME = "erratic"
    COLUMNS = 2

    def __init__(self) -> None:
        super().__init__()

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 8:
            return float("nan")
        return max(self._jumps(blocks.means[:, 0]) - 3.0 * self._jumps(blocks.means[:, 1]), 0.0)

    @staticmethod
    def _jumps(series: FloatArray) -> float:
        values = series[len(series) // 4 :]
        bends = np.sort(np.abs(values[2:] - 2.0 * values[1:-1] + values[:-2]))[:-OUTLIER]
        if not len(bends):
            return 0.0
        level = middle(np.abs(values))
        yardstick = level + PROGRESS * max(middle(np.abs(series[:3])) - level, 0.0)
        return float(np.sqrt((bends**2).mean() / 6.0)) / max(yardstick, 1e-12)
