"""Time and steps: how long a run lasted, how much of it was lost, and to what. Every number is computed from
the run's own records.

The work between two points of the run's progress, its seconds and its steps, is lost to one thing at most:
to being done again, to going on after a critical symptom, or to never having been saved. Time in which
nothing was done (a gap, a restart, a wait) stands beside that work. So each second and step counts once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series
from hrmdoc.reports.work import LONG, PAUSE, STARTED, Work, work_of

_PAUSES = ("eval", "checkpoint")
Kind = Literal["restart", "replay", "gap", "after", "unsaved", "wait", "start"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A stretch that brought nothing. `basis` says how it was computed, `steps` how many were trained in
    vain; `seconds` is NaN where the records carry no times."""

    what: str
    seconds: float
    step: int | None
    basis: str
    kind: Kind = "restart"
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The time of one run in seconds, NaN where its records carry no times, and its steps.

    Attributes:
        repairs: for each interruption that the run came back from, the seconds until its next point.
        steps: how many were trained, those that were trained again counted again.
    """

    duration: float
    losses: tuple[Loss, ...]
    interruptions: int
    repairs: tuple[float, ...] = ()
    steps: int = 0

    @property
    def lost(self) -> float:
        """Seconds lost, at most the whole duration."""
        total = sum(loss.seconds for loss in self.losses if math.isfinite(loss.seconds))
        return min(total, self.duration) if math.isfinite(self.duration) else total

    @property
    def lost_steps(self) -> int:
        """Steps that were trained and lost."""
        return sum(loss.steps for loss in self.losses)

    @property
    def productive_share(self) -> float:
        """The share of the time that was not lost (effective training time ratio), NaN when unknown."""
        return (
            1.0 - self.lost / self.duration
            if math.isfinite(self.duration) and self.duration > 0
            else math.nan
        )

    @property
    def between_failures(self) -> float:
        """Mean time between interruptions in seconds, NaN without any."""
        return self.duration / self.interruptions if self.interruptions else math.nan


def ledger(analysis: Analysis) -> Ledger:
    """Adds up what a run spent.

    Lost are: gaps around restarts and others in which nothing was written, work done twice after a resume,
    training on after a critical symptom, all since the last checkpoint of a run that broke off, the start
    before the first point, and the wait for what never came before the end.
    """
    series = analysis.run.progress or next((s for s in analysis.run.series.values() if len(s)), None)
    if series is None:
        return Ledger(math.nan, (), _crashes(analysis))
    work = work_of(analysis.run, series)
    crashes = _crashes(analysis)
    idle = [*_started(analysis, work), *_restarts(work), *_gaps(analysis, work, series)]
    losses = [*idle, *_redone(analysis, work), *_after_critical(analysis, work), *_unsaved(analysis, work)]
    waited = _waited(analysis, series) if work.timed else []
    duration = math.nan
    if work.timed:
        outside = [loss.seconds for loss in (*idle, *waited) if loss.kind in ("start", "wait")]
        duration = float(np.nanmax(work.times) - np.nanmin(work.times)) + sum(outside)
    repairs = tuple(float(work.spent[at]) for at in work.restarts if math.isfinite(work.spent[at]))
    total = int(work.made.sum())
    return Ledger(duration, (*losses, *waited), crashes + len(work.restarts), repairs, total)


def _crashes(analysis: Analysis) -> int:
    return int(analysis.state in ("crashed", "hung", "stopped"))


def _started(analysis: Analysis, work: Work) -> list[Loss]:
    """From the launch that the run tells of to its first point."""
    begun = [event.time for event in analysis.run.events.of("start", "launch")]
    known = [time for time in begun if math.isfinite(time)]
    if not known or not work.timed:
        return []
    first = float(work.times[np.isfinite(work.times)][0])
    seconds = first - min(known) - (work.usual if math.isfinite(work.usual) else 0.0)
    if seconds <= PAUSE or seconds > 7 * 86400:  # an older launch stands in another file of the run
        return []
    return [Loss("starting", seconds, int(work.steps[0]), "from the launch to the first point", "start")]


def _restarts(work: Work) -> list[Loss]:
    basis = "time between the last record before and the first after, less a usual pause"
    found = []
    for at in work.restarts:
        seconds = float(work.spent[at]) - work.usual
        if math.isfinite(seconds) and seconds > 0:
            found.append(Loss("restart", seconds, int(work.steps[at]), basis, "restart"))
    return found


def _gaps(analysis: Analysis, work: Work, series: Series) -> list[Loss]:
    """Long pauses of a run that went on by itself. One that ends with an evaluation or a checkpoint was used
    for that, unless an error stands there, and what other metrics record within one shows that the run was at
    work."""
    found = []
    restarts = set(work.restarts)
    for at in np.flatnonzero(work.pauses()).tolist():
        if at in restarts or _evaluated(analysis, work, at):
            continue
        begin, end = float(work.times[at - 1]), float(work.times[at])
        signs = np.concatenate(
            [[begin, end], *(_within(s.times, begin, end) for s in _others(analysis, series))]
        )
        hole = float(np.diff(np.sort(signs)).max())
        if hole > max(PAUSE, LONG * work.usual):
            step = int(work.steps[at - 1])
            basis = "nothing was recorded from there to the next point, a usual pause left out"
            found.append(Loss("a gap", hole - work.usual, step, basis, "gap"))
    return found


def _others(analysis: Analysis, series: Series) -> list[Series]:
    return [one for one in analysis.run.series.values() if one is not series and len(one)][:64]


def _within(times: FloatArray, begin: float, end: float) -> FloatArray:
    return times[(times > begin) & (times < end)]


def _evaluated(analysis: Analysis, work: Work, at: int) -> bool:
    """Whether the run evaluated or saved between two points, and no error stands there."""
    low, high = int(work.steps[at - 1]), int(work.steps[at])

    def told(*kinds: str) -> bool:
        events = (step for kind in kinds for step, _ in analysis.run.events.moments(kind))
        return any(step is not None and low <= step < high for step in events)

    if told("exception"):
        return False
    if told(*_PAUSES):
        return True
    scored = (s.steps for s in analysis.run.series.values() if (s.role.role or "").startswith("eval."))
    return any(bool(((steps >= low) & (steps < high)).any()) for steps in scored)


def _redone(analysis: Analysis, work: Work) -> list[Loss]:
    """Steps that a resume trained again: those behind the checkpoint, or, where the run tells of none that
    fits, from the first that it logs again."""
    saved = [step for step, _ in analysis.run.events.moments("checkpoint") if step is not None]
    found = []
    for at in work.falls:
        step = int(work.steps[at])
        fitting = [one for one in saved if step - int(work.made[at]) <= one <= step]
        again = np.zeros(len(work.steps), np.bool_)
        again[:at] = work.steps[:at] > max(fitting) if fitting else work.steps[:at] >= step
        first = int((work.steps - work.made)[again].min(initial=step)) + 1
        last = int(work.steps[at - 1])
        seconds, steps = work.take(again)
        if steps:
            basis = f"steps {first} to {last} were trained again"
            found.append(Loss("work done twice", seconds, step, basis, "replay", steps))
    return found


def _after_critical(analysis: Analysis, work: Work) -> list[Loss]:
    """Training that went on after the first critical symptom that never resolved."""
    critical = [
        s
        for s in analysis.present
        if s.state == "present" and s.role and s.first_step is not None and analysis.severity(s) == "critical"
    ]
    if not critical:
        return []
    first = min(critical, key=lambda s: s.first_step or 0)
    began = first.first_step or 0
    later = work.steps > began
    later[: max(work.falls, default=0)] = False
    seconds, steps = work.take(later)
    basis = f"the steps after {began}, to the last record"
    lost = Loss(f"trained on after {first.id}", seconds, began, basis, "after", steps)
    return [lost] if steps or seconds > 0 else []


def _unsaved(analysis: Analysis, work: Work) -> list[Loss]:
    """What a run that broke off had done since its last checkpoint: all of it where it never told of one."""
    if not _crashes(analysis):
        return []
    saved = [step for step, _ in analysis.run.events.moments("checkpoint") if step is not None]
    kept = saved[-1] if saved else None
    seconds, steps = work.take(work.steps > kept if kept is not None else np.ones(len(work.steps), np.bool_))
    if not steps and not seconds > 0:
        return []
    if kept is None:
        basis = "it broke off and tells of no checkpoint; if it saved one, less is lost"
        return [Loss("work that was never saved", seconds, int(work.steps[0]), basis, "unsaved", steps)]
    basis = f"steps after {kept} have to be trained again"
    return [Loss("work since the last checkpoint", seconds, kept, basis, "unsaved", steps)]


def _waited(analysis: Analysis, series: Series) -> list[Loss]:
    """From the last point of a run that broke off to its last line, or as long as a watchdog says that it
    waited."""
    if not _crashes(analysis):
        return []
    times = series.times[np.isfinite(series.times)]
    silence = analysis.run.last_time - float(times.max())
    usual = float(np.median(np.diff(times)))
    seconds, basis = (
        silence if silence > max(PAUSE, STARTED * usual) else 0.0,
        "from the last point to the last line",
    )
    waits = [wait for s in analysis.present if isinstance(wait := s.values.get("ran_ms"), int)]
    timeout = max(waits, default=0) / 1000.0
    if timeout > seconds:
        seconds, basis = timeout, "by the word of the watchdog that ended it"
    step = int(series.steps[-1])
    return [Loss("waiting before it broke off", seconds, step, basis, "wait")] if seconds else []
