"""How long a condition has held without a break."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.base import Detector, FloatArray, IntArray


class Run(Detector):
    """Length of the unbroken run of points that fulfil the condition, up to and including each point.

    With neither bound, the condition is that the value repeats: it equals the point before (the first point
    of the run counts).

    Args:
        at_most: the value must be this or less.
        at_least: the value must be this or more.
        absolute: take the magnitude.
        unit: count `points`, training `steps` since the run began, or the `share` of all points so far.
        tolerance: relative difference up to which two values in a row count as equal.
        later: a run that begins at the first point of all counts as none.
    """

    NAME = "run"

    def __init__(
        self,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        absolute: bool = False,
        unit: Literal["points", "steps", "share"] = "points",
        tolerance: float = 1e-9,
        later: bool = False,
    ) -> None:
        self._at_most = at_most
        self._at_least = at_least
        self._absolute = absolute
        self._unit = unit
        self._tolerance = tolerance
        self._leading = later
        self._seen = 0
        self._length = 0
        self._began = 0
        self._last = np.nan

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        if self._absolute:
            values = np.abs(values)
        index = np.arange(len(values))
        holds = self._holds(values)
        if self._leading:
            leading = np.logical_and.accumulate(holds)
            holds &= ~leading
            self._leading = bool(leading[-1])
        repeats = self._at_most is None and self._at_least is None
        # a run that starts here has its first point here; a repetition has it one point before
        broken = np.maximum.accumulate(np.where(holds, -1, index))
        begin = broken if repeats else broken + 1
        carried = broken < 0
        length = np.where(holds, index - begin + 1, 0) + np.where(
            holds & carried, self._length - (1 if repeats else 0), 0
        )
        since = np.where(carried, self._began, steps[np.clip(begin, 0, len(steps) - 1)])
        scores = self._scores(
            np.maximum(length, 1) if repeats else length, steps - since, index + self._seen + 1
        )
        self._seen += len(values)
        self._length = max(int(length[-1]), 1) if repeats else int(length[-1])
        self._began = int(since[-1]) if holds[-1] else int(steps[-1])
        self._last = float(values[-1])
        return scores

    def _holds(self, values: FloatArray) -> NDArray[np.bool_]:
        if self._at_most is None and self._at_least is None:
            before = np.concatenate([[self._last], values[:-1]])
            repeats: NDArray[np.bool_] = np.abs(values - before) <= self._tolerance * np.abs(values)
            return repeats
        holds = np.ones(len(values), dtype=bool)
        if self._at_most is not None:
            holds &= values <= self._at_most
        if self._at_least is not None:
            holds &= values >= self._at_least
        return holds

    def _scores(self, length: FloatArray, span: IntArray, seen: IntArray) -> FloatArray:
        if self._unit == "points":
            return length.astype(np.float64)
        if self._unit == "share":
            return length / seen
        return np.where(length > 0, span, 0).astype(np.float64)
