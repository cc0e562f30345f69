"""What every detector is: a causal, chunk-invariant score over the points of one role, or of two roles side
by side.

A detector is a numerical method, not an opinion: thresholds live in the rules. It keeps its state between
calls, reads no file and no clock, and gives the same scores however the series is cut into chunks. Values
that are not finite are left out (their score is NaN), except by the detector that looks for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LIMIT = 1e100  # larger magnitudes are cut, so that squares and sums stay finite
SLAB = 65536  # points handled at once: bounds memory, changes no score


class Detector(ABC):
    """Base of all detectors. Parameters are the keyword arguments of `__init__`, documented under `Args:`.

    Attributes:
        NAME: what rules call it; the name of its module.
        COLUMNS: 1 for a single role, 2 for a role and the one it is compared with.
    """

    NAME: ClassVar[str]
    COLUMNS: ClassVar[int] = 1
    FINITE_ONLY: ClassVar[bool] = True

    unasked: int = 0
    """Of the points that are scored now, the first so many need no score: whatever is given for them."""

    def update(self, steps: ArrayLike, values: ArrayLike, unasked: int = 0) -> FloatArray:
        """Scores the next points of the series.

        Args:
            steps: training steps, shape [n].
            values: shape [n], or [n, 2] when `COLUMNS` is 2 (the role, then the one it is compared with).
            unasked: the first so many of them need no score.

        Returns:
            One score a point, shape [n]; NaN where the detector cannot judge yet or the value is not finite.
        """
        step, value = np.asarray(steps, dtype=np.int64), np.asarray(values, dtype=np.float64)
        expected = (len(step),) if self.COLUMNS == 1 else (len(step), self.COLUMNS)
        if value.shape != expected:
            raise ValueError(f"{self.NAME}: values of shape {value.shape}, expected {expected}")
        scores = np.full(len(step), np.nan)
        with np.errstate(all="ignore"):
            for begin in range(0, len(step), SLAB):
                piece = slice(begin, begin + SLAB)
                part = np.ascontiguousarray(value[piece])
                self.unasked = min(max(0, unasked - begin), len(part))
                scores[piece] = self._masked(np.ascontiguousarray(step[piece]), part)
        return scores

    def _masked(self, steps: IntArray, values: FloatArray) -> FloatArray:
        if not self.FINITE_ONLY:
            return self.score(steps, values)
        good: NDArray[np.bool_] = np.isfinite(values)
        if self.COLUMNS > 1:
            good = np.logical_and.reduce(good, axis=1)
        if good.all():
            return self.score(steps, np.clip(values, -LIMIT, LIMIT))
        scores = np.full(len(steps), np.nan)
        self.unasked = int(np.count_nonzero(good[: self.unasked]))
        if good.any():
            scores[good] = self.score(steps[good], np.clip(values[good], -LIMIT, LIMIT))
        return scores

    def began(self, values: FloatArray) -> int:
        """The point at which that began which the score of the last one shows, of finite values of
        shape [n]: the last one itself, unless the method looks at what has lasted for a while."""
        return len(values) - 1

    @abstractmethod
    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        """Scores at least one finite point, shape [n] for [n] or [n, 2] values."""
