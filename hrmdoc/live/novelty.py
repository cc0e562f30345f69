"""Whether what a run got since its last examination is of another kind than before.

An examination with all rules costs milliseconds, a row comes every second or faster, and nearly every row is
like those before it. So each new point is held against the points before it: one that leaves their band, is
not finite, or repeats the last where no two of the others were the same, calls for an examination at once, as
do a new metric, an event and a message that a signature knows. This decides when rules are evaluated, never
what they find: the ordinary examinations see every point.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series, SeriesKey

TAIL = 64
"""Points before the last examination that say what is usual: some minutes of most runs."""
MARGIN = 0.5
"""Of the range of the tail, by which a point may leave it: of normal noise one point in a million does."""
SLACK = 1e-3
"""And by this share of its magnitude, where the tail is constant."""


class Novelty:
    """Compares what came since `mark` with what was there then.

    Args:
        run: what is read so far.
        matches: how many symptoms have matching log lines, and how many lines there are.
    """

    def __init__(self, run: Run, matches: Callable[[], tuple[int, int]]) -> None:
        self._run, self._matches = run, matches
        self._bands: dict[SeriesKey, _Band] = {}
        self._counts: tuple[int, ...] = ()
        self._matched = (0, 0)
        self._found = True

    def mark(self) -> None:
        """The run was examined as it stands now."""
        self._found = False
        self._counts, self._matched = self._counted(), self._matches()
        for key, series in self._run.series.items():
            band = self._bands.get(key)
            if band is None or band.seen != len(series) or band.marked != band.seen:
                self._bands[key] = _Band(series)

    def found(self) -> bool:
        """Whether anything is of another kind; true until the next `mark` once it was."""
        self._found = self._found or self._counted() != self._counts or self._more_lines() or self._left()
        return self._found

    def _counted(self) -> tuple[int, ...]:
        run = self._run
        return len(run.series), len(run.events), len(run.damages), len(run.facts)

    def _more_lines(self) -> bool:
        """Whether lines of a symptom came that had none, or twice as many as there were."""
        symptoms, lines = self._matches()
        return symptoms > self._matched[0] or lines > 2 * self._matched[1]

    def _left(self) -> bool:
        """Whether a point left the band of its series."""
        found = False
        for key, series in self._run.series.items():
            band = self._bands.get(key)
            if band is None or len(series) != band.seen:
                found = found or band is None or band.is_left_by(series)
        return found


class _Band:
    """What is usual of one series: the range of its last points, and how they drift."""

    __slots__ = ("drift", "high", "last", "low", "marked", "moves", "seen", "step", "zeros")

    def __init__(self, series: Series) -> None:
        self.marked = self.seen = n = len(series)
        tail = series.values[max(0, n - TAIL) :]
        finite = tail[np.isfinite(tail)]
        self.step = int(series.steps[-1]) if n else 0
        self.low = self.high = self.drift = 0.0
        if len(finite) < max(1, len(tail)):
            self.low, self.high = -math.inf, math.inf  # it is not finite already: nothing is new about that
        elif n:
            self._measure(finite)
        self.zeros = bool((finite == 0).any())
        self.last = float(tail[-1]) if n else math.nan
        self.moves = (
            1 < len(finite) == len(set(finite.tolist()))
        )  # of rounded ones some are the same by chance

    def _measure(self, tail: FloatArray) -> None:
        low, high = float(tail.min()), float(tail.max())
        half = len(tail) // 2
        if half:
            self.drift = float(tail[half:].mean() - tail[:half].mean()) / half
        room = MARGIN * (high - low) + SLACK * max(abs(low), abs(high))
        self.low, self.high = low - room, high + room

    def is_left_by(self, series: Series) -> bool:
        """Whether a point that came since leaves it, or the steps fell back."""
        seen, self.seen = self.seen, len(series)
        if self.seen < seen or (step := int(series.steps[-1])) < self.step:
            return True
        self.step = step
        if math.isinf(self.high):
            return False
        drift, at = self.drift, seen - self.marked
        for value in series.values[seen:].tolist():
            at += 1
            stands, self.last = self.moves and value == self.last, value
            low, high = (
                (self.low, self.high + drift * at) if drift > 0 else (self.low + drift * at, self.high)
            )
            if stands or not low <= value <= high or (value == 0.0 and not self.zeros):
                return True
        return False
