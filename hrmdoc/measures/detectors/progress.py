"""How much better the series has become since its start."""

from __future__ import annotations

import math
from typing import Literal

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle, noise


class Progress(WholeSeries):
    """Improvement from the start to now, as a share of the larger magnitude of the two; 0 when it drowns in
    the noise.

    Args:
        goal: whether lower or higher is better.
        classes: K, or several candidates, of a cross-entropy: a start above ln K counts as ln K, since coming
            down to what a guess costs is no learning. The largest K counts.
    """

    NAME = "progress"

    def __init__(
        self, *, goal: Literal["min", "max"] = "min", classes: float | tuple[float, ...] = ()
    ) -> None:
        super().__init__()
        candidates = classes if isinstance(classes, tuple) else (classes,)
        if any(k < 2 for k in candidates):
            raise ValueError("classes is at least 2")
        self._sign = 1.0 if goal == "min" else -1.0
        self._guess = max((math.log(k) for k in candidates), default=math.inf)

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < 3:
            return float("nan")
        values = self._sign * blocks.means[:, 0]
        start, now = (
            middle(values[: max(1, blocks.count // 16)]),
            middle(values[-max(1, blocks.count // 8) :]),
        )
        start = min(start, self._guess)
        gain = start - now
        size = max(abs(start), abs(now))
        if size == 0 or gain < 2.0 * noise(values):
            return min(gain / size, 0.0) if size else 0.0
        return gain / size
