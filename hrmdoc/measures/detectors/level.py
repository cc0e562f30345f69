"""The value itself."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.sliding import sliding_median
from hrmdoc.measures.trailing import Tail


class Level(Detector):
    """The value, or the median of the last few values, in the unit the rule asks for.

    Args:
        absolute: take the magnitude.
        unit: divide by this, for example a cap or an expected value.
        smooth: median over so many points, this one included; NaN before there are as many.
        ceiling: larger values are on another scale (percent instead of shares) and are not judged.
        after_steps: not judged before training has gone so many steps.
    """

    NAME = "level"

    def __init__(
        self,
        *,
        absolute: bool = False,
        unit: float = 1.0,
        smooth: int = 1,
        ceiling: float | None = None,
        after_steps: float = 0.0,
    ) -> None:
        if smooth < 1 or unit == 0:
            raise ValueError("smooth is at least 1 and unit is not 0")
        self._absolute = absolute
        self._unit = unit
        self._smooth = smooth
        self._ceiling = ceiling
        self._after = after_steps
        self._first: int | None = None
        self._tail = Tail(smooth - 1)

    def began(self, values: FloatArray) -> int:
        """Where the value came that has stood unchanged since."""
        others = np.flatnonzero(values != values[-1])
        return (
            len(values) - 1 if self._smooth > 1 or self._after else int(others[-1]) + 1 if len(others) else 0
        )

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        if self._first is None:
            self._first = int(steps[0])
        scores = (np.abs(values) if self._absolute else values) / self._unit
        if self._smooth > 1:
            scores = self._smoothed(scores)
        judged = steps - self._first >= self._after
        if self._ceiling is not None:
            judged &= values <= self._ceiling
        return np.where(judged, scores, np.nan)

    def _smoothed(self, values: FloatArray) -> FloatArray:
        joined, _ = self._tail.join(values)
        smoothed = np.full(len(values), np.nan)
        if len(joined) >= self._smooth:
            known = min(len(values), len(joined) - self._smooth + 1)
            smoothed[-known:] = sliding_median(joined[len(joined) - known - self._smooth + 1 :], self._smooth)
        return smoothed
