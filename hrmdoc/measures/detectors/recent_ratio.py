"""How the series stands now against its own past."""

from __future__ import annotations

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle


class RecentRatio(WholeSeries):
    """Median of the last blocks over the median of all before them; 1 means as usual.

    Args:
        recent: share of the run (three blocks at least) that counts as now.
    """

    NAME = "recent_ratio"

    def __init__(self, *, recent: float = 0.1) -> None:
        super().__init__()
        if not 0 < recent < 1:
            raise ValueError("recent lies between 0 and 1")
        self._recent = recent

    def judge(self, blocks: Pyramid) -> float:
        width = max(3, round(self._recent * blocks.count))
        if blocks.count < 2 * width:
            return float("nan")
        usual = middle(blocks.means[:-width, 0])
        return middle(blocks.means[-width:, 0]) / usual if usual != 0 else float("nan")
