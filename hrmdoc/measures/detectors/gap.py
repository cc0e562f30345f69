"""The distance between two roles that should stay close."""

from __future__ import annotations

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle


class Gap(WholeSeries):
    """Role minus the role beside it, as a share of the larger of the two, over the last quarter of the run.

    With `stalled` only the gap of a run that no longer generalises counts: 0 unless the role stopped
    improving for the second half while the other one went on falling.

    Args:
        stalled: ask for that.
        improvement: relative improvement of the role over the second half with which it has not stalled.
        falling: relative fall of the other role over the second half that is asked for.
    """

    NAME = "gap"
    COLUMNS = 2

    def __init__(self, *, stalled: bool = False, improvement: float = 0.03, falling: float = 0.1) -> None:
        super().__init__()
        self._stalled = stalled
        self._improvement = improvement
        self._falling = falling

    def judge(self, blocks: Pyramid) -> float:
        n = blocks.count
        if n < 4:
            return float("nan")
        values, other = blocks.means[:, 0], blocks.means[:, 1]
        now, other_now = middle(values[-max(2, n // 4) :]), middle(other[-max(2, n // 4) :])
        gap = (now - other_now) / max(abs(now), abs(other_now), 1e-12)
        if not self._stalled:
            return gap
        then, other_then = middle(values[n // 4 : n // 2 + 1]), middle(other[n // 4 : n // 2 + 1])
        stalled = then - now < self._improvement * abs(then)
        fell = other_then - other_now > self._falling * abs(other_then)
        return gap if stalled and fell else 0.0
