"""Batches that are not drawn at random."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray
from hrmdoc.measures.trailing import Tail

LARGEST = 2  # differences left out: single batches go wrong in healthy runs, and each makes two large ones
BEYOND = 4.0  # times the scatter that the samples of a point allow
SAME = 1e-6  # values this close are one, written twice
DECIDED = 0.02  # accuracies this close to 0 or 1 leave no scatter to look at


class Clumps(Detector):
    """How much an accuracy scatters from point to point, as a share of what points scatter that are all right
    or all wrong.

    Samples that are drawn at random give 1/n, where n is the number of samples a point stands for; samples
    that come sorted, so that a whole batch is right or wrong together, give much more. The number of samples
    is read from the finest step between values: 0 unless the scatter is several times what that many samples
    allow. The largest two differences in the window are left out, so that a single bad batch is none.

    Args:
        window: points looked at; half as many are needed.
        finest: points of fewer than 1/finest samples scatter by themselves and are not judged.
    """

    NAME = "clumps"

    def __init__(self, *, window: int = 16, finest: float = 1 / 15) -> None:
        if window < 8 or not 0 < finest <= 1:
            raise ValueError("window is at least 8, and finest lies between 0 and 1")
        self._window = window
        self._finest = finest
        self._values = Tail(window)
        self._step = np.inf
        self._highest = 0.0

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        del steps
        seen, window = self._values.seen, self._window
        joined, first = self._values.join(values)
        known = np.concatenate([np.full(window - (seen - first), np.nan), joined])
        whole, finest = self._scales(known[window - 1 :])
        points = np.minimum(np.arange(seen, seen + len(values)) + 1, window)
        differences = np.diff(known)
        differences[~np.isfinite(differences)] = 0.0  # nothing lies before the first point
        spread = _sum_of_lower(_slid(differences**2, window - 1, len(values))) / whole**2
        mean = sum(_slid(np.nan_to_num(known), window, len(values)), np.zeros(len(values))) / points / whole
        share = spread / np.maximum(points - 1 - LARGEST, 1) / (2.0 * mean * (1.0 - mean))
        judged = (
            (finest <= self._finest) & (mean > DECIDED) & (mean < 1.0 - DECIDED) & (share > BEYOND * finest)
        )
        scores: FloatArray = np.where(judged, share, 0.0)
        scores[: max(0, window // 2 - 1 - seen)] = np.nan
        return scores

    def _scales(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What a whole is, 1 or 100, and the finest step so far as a share of it, at each of `values` but the
        first."""
        highest = np.maximum.accumulate(np.fmax(values, self._highest))
        apart = np.abs(np.diff(values))
        step = np.minimum.accumulate(np.minimum(np.where(apart > SAME, apart, np.inf), self._step))
        self._highest, self._step = float(highest[-1]), float(step[-1])
        whole = np.where(highest[1:] > 1.5, 100.0, 1.0)
        return whole, step / whole


def _slid(values: FloatArray, window: int, count: int) -> list[FloatArray]:
    """The first values of the last `count` windows, their second ones, and so on."""
    first = len(values) - window - count + 1
    return [values[first + at : first + at + count] for at in range(window)]


def _sum_of_lower(places: list[FloatArray]) -> FloatArray:
    """What the values of each window sum up to but for its two largest; shape [n] each -> [n]."""
    largest = np.maximum(places[0], places[1])
    second = np.minimum(places[0], places[1])
    total = np.zeros(len(largest))
    for place in places[2:]:
        total += np.minimum(second, place)
        upper = np.maximum(second, place)
        second = np.minimum(largest, upper)
        largest = np.maximum(largest, upper)
    return total
