"""Whether what a run got since its last examination is of another kind than before.

An examination with all rules costs milliseconds, a row comes every second or faster, and nearly every row is
like those before it. So each new point is held against the points before it: one that leaves their band, is
not finite, or repeats the last where no two of the others were the same, calls for an examination at once, as
do a new metric, an event and a message that a signature knows. This decides when rules are evaluated, never
what they find: the ordinary examinations see every point.
"""

from __future__ import annotations

from collections.abc import Callable

from hrmdoc.live.band import TAIL, Band
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series, SeriesKey


class Novelty:
    """Compares what came since `mark` with what was there then.

    Args:
        run: what is read so far.
        matches: how many symptoms have matching log lines, and how many lines there are.
    """

    def __init__(self, run: Run, matches: Callable[[], tuple[int, int]]) -> None:
        self._run, self._matches = run, matches
        self._bands: dict[SeriesKey, _Known] = {}
        self._counts: tuple[int, ...] = ()
        self._matched = (0, 0)
        self._found = True

    def mark(self) -> None:
        """The run was examined as it stands now."""
        self._found = False
        self._counts, self._matched = self._counted(), self._matches()
        for key, series in self._run.series.items():
            band = self._bands.get(key)
            if band is None or band.seen != series.came or band.marked != band.seen:
                self._bands[key] = _Known(series)

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
            if band is None or series.came != band.seen:
                found = found or band is None or band.is_left_by(series)
        return found


class _Known:
    """What is usual of one series, and how far it was looked at."""

    __slots__ = ("_band", "_step", "marked", "seen")

    def __init__(self, series: Series) -> None:
        self.marked = self.seen = series.came
        n = len(series)
        self._step = int(series.steps[-1]) if n else 0
        self._band = Band(series.values[max(0, n - TAIL) :].tolist())

    def is_left_by(self, series: Series) -> bool:
        """Whether a point that came since leaves it, or the steps fell back."""
        seen, self.seen = self.seen, series.came
        if self.seen < seen or (step := int(series.steps[-1])) < self._step:
            return True
        self._step = step
        return self._band.is_left_by(series.values[max(0, len(series) + seen - self.seen) :].tolist())
