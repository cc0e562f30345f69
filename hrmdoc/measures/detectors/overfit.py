"""The evaluation gets worse than its best while the training loss goes on falling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle, noise, smooth

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray

FEW, FEW_SCATTER = 10, 1.0
"""Of few points the best one is the luckiest: more of the scatter is taken off."""


class Overfit(WholeSeries):
    """Rise of the role above its best, sustained, as a share of that best; 0 while the role beside it has not
    fallen since.

    The denominator also holds a share of the progress made, so that a rise of a loss that is nearly zero
    weighs little, and usual scatter is taken off. Three points are enough for a verdict, but there the last
    one stands alone and counts a third.

    Args:
        goal: whether lower or higher is better; of a score, falls are meant.
        falling: relative fall of the other role since the best that is asked for.
        sustained: share of the run (two blocks at least) over which the rise must last.
        progress: share of the progress made that joins the denominator.
        given_back: share of the progress that must be lost where a loss still lies below the other one.
        scatters: how many times the usual scatter is taken off; the best of many points lies several times
            that off the level.
    """

    NAME = "overfit"
    COLUMNS = 2

    def __init__(
        self,
        *,
        goal: Literal["min", "max"] = "min",
        falling: float = 0.05,
        sustained: float = 0.1,
        progress: float = 0.05,
        given_back: float = 0.15,
        scatters: float = 0.5,
    ) -> None:
        super().__init__()
        self._sign = 1.0 if goal == "min" else -1.0
        self._falling = falling
        self._sustained = sustained
        self._progress = progress
        self._given_back = given_back
        self._scatters = scatters

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 3:
            return float("nan")
        width = max(2, round(self._sustained * blocks.count)) if blocks.count > 3 else 1
        values, other = self._sign * blocks.means[:, 0], blocks.means[:, 1]
        best_at = int(smooth(values)[:-width].argmin())
        best = float(smooth(values)[best_at])
        end = middle(values[-width:])
        rise = end - best - self._scatter(values, width)
        if rise <= 0 or float(values[-width:].min()) <= best or not self._fell(other, best_at, width):
            return 0.0
        progress = max(middle(values[:3]) - best, 0.0)
        below = self._sign > 0 and end < middle(other[-width:])
        if below and rise < self._given_back * progress:
            return 0.0
        yardstick = abs(best) + self._progress * progress
        return rise / max(yardstick, 1e-12) / (1.0 if width > 1 else 3.0)

    def _scatter(self, values: FloatArray, width: int) -> float:
        """What is taken off; nothing of three points, whose only bend is the turn itself."""
        scatters = max(self._scatters, FEW_SCATTER) if len(values) < FEW else self._scatters
        return scatters * noise(values) if width > 1 else 0.0

    def _fell(self, other: FloatArray, best_at: int, width: int) -> bool:
        then, now = middle(other[max(0, best_at - 1) : best_at + 2]), middle(other[-width:])
        return then - now >= self._falling * abs(then) and then > now
