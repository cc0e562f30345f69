"""The work of a run, point by point of its progress, and where it was started again."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hrmdoc.examination.tracks import rewinds
from hrmdoc.record.records import Event, FloatArray, IntArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

PAUSE = 60.0
"""Seconds without a record from which on a pause is none of the usual ones."""
LONG = 10.0
"""And so many times as long as the usual one."""
STARTED = 3.0
"""A start takes more than so many times the usual seconds between two points."""
_BEGINNINGS = ("resume", "restart", "start", "launch")


@dataclass(slots=True)
class Work:
    """What was done up to each point since the one before: seconds, NaN where not known, and steps.

    Attributes:
        falls: points before which the step counter fell back.
        resumed: points before which the run was started again and went on where it had ended.
    """

    steps: IntArray
    times: FloatArray
    falls: list[int]
    resumed: list[int] = field(default_factory=list)
    spent: FloatArray = field(init=False)
    made: IntArray = field(init=False)
    taken: NDArray[np.bool_] = field(init=False)
    usual: float = field(init=False)

    def __post_init__(self) -> None:
        self.spent = np.concatenate([[0.0], np.diff(self.times)])
        self.made = np.concatenate([[0], np.diff(self.steps)])
        stride = int(np.median(forward)) if len(forward := self.made[self.made > 0]) else 0
        self.made[0] = min(max(0, int(self.steps[0])), stride)
        self.made[self.falls] = np.minimum(stride, self.steps[self.falls])
        self.made = np.maximum(self.made, 0)
        self.taken = np.zeros(len(self.steps), np.bool_)
        known = self.spent[1:][np.isfinite(self.spent[1:])]
        self.usual = max(0.0, float(np.median(known))) if len(known) else math.nan

    @property
    def restarts(self) -> list[int]:
        """Before which points the run was started again."""
        return sorted({*self.falls, *self.resumed})

    @property
    def timed(self) -> bool:
        """Whether a duration can be told."""
        return int(np.isfinite(self.times).sum()) > 1

    def take(self, wanted: NDArray[np.bool_]) -> tuple[float, int]:
        """Seconds and steps of the points that are `wanted` and not taken yet, which takes them; a pause
        counts as a usual one, since what is beyond that is lost to the pause."""
        mine = wanted & ~self.taken
        self.taken |= mine
        spent = self.spent[mine]
        usual = self.usual if math.isfinite(self.usual) else 0.0
        long = self.pauses()[mine]
        seconds = float(np.nansum(np.where(long, usual, np.maximum(spent, 0.0)))) if self.timed else math.nan
        return seconds, int(self.made[mine].sum())

    def pauses(self) -> NDArray[np.bool_]:
        """Before which points nothing was written for much longer than usual, or the run began again."""
        found = (
            self.spent > max(PAUSE, LONG * self.usual) if self.timed else np.zeros(len(self.steps), np.bool_)
        )
        found[self.restarts] = True
        return found


def work_of(run: Run, series: Series) -> Work:
    """The work that `series` is the progress of."""
    found = rewinds(series.steps, series.values, epochs=series.axis == "epoch")
    work = Work(series.steps, series.times, sorted((*found.fresh, *found.resumed)))
    work.resumed = _in_place(run, series, work)
    return work


def _in_place(run: Run, series: Series, work: Work) -> list[int]:
    """Points before which the run says that it began or went on from a checkpoint, where no step was done
    twice. A line of that sort alone, as at a checkpoint that is loaded to be evaluated, is no start: that
    takes its time."""
    near = {at + off for at in work.falls for off in (-2, -1, 0, 1)}
    found = {_behind(event, series) for event in run.events.of(*_BEGINNINGS)}
    least = STARTED * work.usual
    return sorted(at for at in found - near if 0 < at < len(work.steps) and work.spent[at] > least)


def _behind(event: Event, series: Series) -> int:
    """The first point behind an event: by its line in the one file, by its time, or by its step."""
    if event.line is not None and series.files == [event.file]:
        return bisect_right(range(len(series)), event.line, key=lambda at: series.place(at)[1] or 0)
    if math.isfinite(event.time):
        later = np.flatnonzero(series.times > event.time)
    else:
        later = np.flatnonzero(series.steps > event.step) if event.step is not None else np.empty(0, np.int64)
    return int(later[0]) if len(later) else len(series)
