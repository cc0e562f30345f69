"""Two roles side by side: beside each value of one, what the other said of the same stretch of training. A
pure function over arrays, computed a piece at a time, since whole curves beside one another take room."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hrmdoc.record.records import FloatArray, IntArray


class Pairing:
    """The pairs of two roles; `of(begin, end)` gives those of some points.

    The companion is the mean of the other role's finite values since the previous point, up to and including
    this point's step; where there are none, its last value before. Points before the other role's first value
    pair with NaN. Where both stand at the same rising steps, that is the other's value at the same index.

    Args:
        steps, values: of the role itself, shape [n].
        other_steps, other_values: of the one beside it, shape [k].
        closed: the run is over. While it is not, only points that the other role has reached are final.

    Attributes:
        ready: how many points have pairs that are final.
    """

    def __init__(
        self,
        steps: IntArray,
        values: FloatArray,
        other_steps: IntArray,
        other_values: FloatArray,
        *,
        closed: bool,
    ) -> None:
        self._values = values
        self._other = other_values
        self._together = at_the_same(steps, other_steps)
        if not len(values) or not len(other_values):
            self.ready = 0
        elif self._together:
            self.ready = len(values)
        else:
            self._reached, self._progress = rising(steps), rising(other_steps)
            finite = np.isfinite(other_values)
            kept = other_values if finite.all() else np.where(finite, other_values, 0.0)
            self._total = np.concatenate([[0.0], np.cumsum(kept)])
            self._count = np.concatenate([[0], np.cumsum(finite)])
            last = self._progress[-1]
            self.ready = len(values) if closed else int(np.searchsorted(self._reached, last, side="right"))

    def of(self, begin: int, end: int) -> FloatArray:
        """The pairs of the points from `begin` up to `end`, which is `ready` at most; shape [m, 2]."""
        beside = self._other[begin:end] if self._together else self._companions(begin, end)
        return np.stack([self._values[begin:end], beside], axis=1)

    def _companions(self, begin: int, end: int) -> FloatArray:
        since = self._reached[max(0, begin - 1) : end]
        stops = np.searchsorted(self._progress, since, side="right")
        start, stop = (stops[:-1], stops[1:]) if begin else (np.concatenate([[0], stops[:-1]]), stops)
        inside = self._count[stop] - self._count[start]
        sums = self._total[stop] - self._total[start]
        means = np.divide(sums, inside, out=np.full(len(stop), np.nan), where=inside > 0)
        last = np.where(stop > 0, self._other[np.maximum(stop - 1, 0)], np.nan)
        return np.where(inside > 0, means, last)


def pairs_by_run(
    own: tuple[IntArray, FloatArray, tuple[int, ...]],
    other: tuple[IntArray, FloatArray, tuple[int, ...]],
    *,
    closed: bool,
) -> FloatArray:
    """The pairs of each of several runs in one file by itself, shape [m, 2]; both are steps, values, and
    where runs begin, equally many."""
    cuts, others = ([0, *starts, len(steps)] for steps, _, starts in (own, other))
    parts = []
    for (a, b), (c, d) in zip(pairwise(cuts), pairwise(others), strict=True):
        over = closed or b < len(own[0])
        pairing = Pairing(own[0][a:b], own[1][a:b], other[0][c:d], other[1][c:d], closed=over)
        parts.append(pairing.of(0, pairing.ready) if pairing.ready else np.empty((0, 2)))
    return np.concatenate(parts)


def rising(steps: IntArray) -> IntArray:
    """The highest step up to each point: the very same array where steps never fall."""
    return steps if bool((steps[1:] >= steps[:-1]).all()) else np.maximum.accumulate(steps)


def at_the_same(steps: IntArray, others: IntArray) -> bool:
    """Whether both are the same steps, each above the one before."""
    return np.array_equal(steps, others) and bool((steps[1:] > steps[:-1]).all())
