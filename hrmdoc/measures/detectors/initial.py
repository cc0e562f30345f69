"""Where the series starts."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray


class Initial(Detector):
    """Median of the first points over the expected value, from the last of them on; NaN before, and when
    nothing is expected.

    Args:
        expected: the value to start from, for a cross-entropy the logarithm of the number of classes (see
            `classes`).
        classes: instead of `expected`: the number of classes K of a classifier, which starts at ln K; the
            first that is known.
        points: how many first points.
        until_step: only series that start at or before this step are judged, since a resumed run starts
            trained.
    """

    NAME = "initial"

    def __init__(
        self,
        *,
        expected: float | None = None,
        classes: float | tuple[float, ...] = (),
        points: int = 3,
        until_step: float = 10.0,
    ) -> None:
        known = classes if isinstance(classes, tuple) else (classes,)
        if expected == 0 or any(k < 2 for k in known):
            raise ValueError("expected is not 0 and classes is at least 2")
        self._expected = float(np.log(known[0])) if known else expected
        self._points = points
        self._until = until_step
        self._first: list[float] = []
        self._begins_late = False
        self._score = np.nan

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        scores = np.full(len(values), self._score)
        missing = self._points - len(self._first)
        if missing <= 0:
            return scores
        if not self._first:
            self._begins_late = bool(steps[0] > self._until)
        self._first.extend(values[:missing].tolist())
        if len(self._first) == self._points and not self._begins_late and self._expected is not None:
            self._score = float(np.median(self._first)) / self._expected
            scores[missing - 1 :] = self._score
        return scores
