"""A jump upwards out of a stretch that did not rise."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail


class Jump(Detector):
    """The value over the one before it, where the two steps before did not rise; 1 where they did, as in a
    warmup.

    Made for learning rates: a rise that goes on from point to point is a warmup or a slow cycle. Values up to
    `negligible` times the highest so far do not count as a level to jump from.

    Args:
        negligible: share of the highest value below which the value before is no level.
    """

    NAME = "jump"

    def __init__(self, *, negligible: float = 0.01) -> None:
        self._negligible = negligible
        self._tail = Tail(3)
        self._highest = 0.0

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        joined, _ = self._tail.join(values)
        padded = np.concatenate([np.full(3 - (len(joined) - len(values)), np.nan), joined])
        before3, before2, before, now = padded[:-3], padded[1:-2], padded[2:-1], padded[3:]
        highest = np.maximum.accumulate(np.concatenate([[self._highest], np.abs(values)]))
        self._highest = float(highest[-1])
        settled = (before <= before2) & (before2 <= before3) & (before > self._negligible * highest[:-1])
        known = ~np.isnan(before3)
        scores = np.divide(now, before, out=np.ones(len(values)), where=settled)
        return np.where(known, scores, np.nan)
