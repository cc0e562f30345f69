"""Time: how long a run lasted, how much of it was lost, and to what. Every number is computed from the run's
own records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.examination.tracks import rewinds
from hrmdoc.record.series import Series

PAUSE = 60.0
"""Seconds between the last point and the last line, up to which a run that broke off did not wait for
anything."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A stretch of time that brought nothing. `basis` says how it was computed."""

    what: str
    seconds: float
    step: int | None
    basis: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The time of one run, in seconds; NaN where its records carry no times."""

    duration: float
    losses: tuple[Loss, ...]
    interruptions: int

    @property
    def lost(self) -> float:
        """Seconds lost, at most the whole duration."""
        total = sum(loss.seconds for loss in self.losses)
        return min(total, self.duration) if math.isfinite(self.duration) else total

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
    """Adds up the time of a run.

    Lost are: work done twice after a resume, gaps around restarts, training on after a critical symptom or,
    where that is longer, the work since the last checkpoint of a run that broke off, and the wait for what
    never came before it did.
    """
    series = analysis.run.best("train.loss") or next(
        (s for s in analysis.run.series.values() if len(s)), None
    )
    if series is None:
        return Ledger(math.nan, (), _crashes(analysis))
    timed = np.isfinite(series.times)
    if timed.sum() < 2:
        return Ledger(math.nan, (), _crashes(analysis) + len(_falls(series)))
    times = series.times[timed]
    wasted = [*_after_critical(analysis, series), *_since_checkpoint(analysis, series)]
    waited = _waited(analysis, series)
    losses = [*_restarts(series), *sorted(wasted, key=lambda loss: -loss.seconds)[:1], *waited]
    duration = float(times.max() - times.min()) + sum(loss.seconds for loss in waited)
    return Ledger(duration, tuple(losses), _crashes(analysis) + len(_falls(series)))


def _falls(series: Series) -> list[int]:
    found = rewinds(series.steps)
    return sorted((*found.fresh, *found.resumed))


def _crashes(analysis: Analysis) -> int:
    return int(analysis.state in ("crashed", "hung", "stopped"))


def _restarts(series: Series) -> list[Loss]:
    losses = []
    usual = float(np.median(np.diff(series.times))) if len(series) > 2 else math.nan
    for index in _falls(series):
        step, times = int(series.steps[index]), series.times
        gap = float(times[index] - times[index - 1])
        if math.isfinite(gap) and gap > max(0.0, usual):
            losses.append(
                Loss(
                    "restart",
                    gap - max(0.0, usual),
                    step,
                    "time between the last record before and the first after",
                )
            )
        redone = np.flatnonzero(series.steps[:index] > step)
        if len(redone):
            spent = float(times[index - 1] - times[redone[0]])
            if math.isfinite(spent) and spent > 0:
                losses.append(
                    Loss(
                        "work done twice",
                        spent,
                        step,
                        f"steps {step} to {int(series.steps[index - 1])} were trained again",
                    )
                )
    return losses


def _after_critical(analysis: Analysis, series: Series) -> list[Loss]:
    """Training that went on after the first critical symptom that never resolved."""
    critical = [
        s
        for s in analysis.present
        if s.state == "present" and s.role and s.first_time is not None and analysis.severity(s) == "critical"
    ]
    if not critical:
        return []
    first = min(critical, key=lambda s: s.first_time or 0.0)
    seconds = float(np.nanmax(series.times)) - float(first.first_time or 0.0)
    basis = f"from step {first.first_step} to the last record"
    return [Loss(f"trained on after {first.id}", seconds, first.first_step, basis)] if seconds > 0 else []


def _since_checkpoint(analysis: Analysis, series: Series) -> list[Loss]:
    """What a run that broke off had done since its last checkpoint; nothing where it never told of one."""
    saved = [
        event.step for event in analysis.run.events if event.kind == "checkpoint" and event.step is not None
    ]
    if not saved or not _crashes(analysis):
        return []
    kept = saved[-1]
    spent = series.times[series.steps > kept]
    spent = spent[np.isfinite(spent)]
    if not len(spent) or not (seconds := float(spent.max() - _time_of(series, kept))) > 0:
        return []
    return [
        Loss("work since the last checkpoint", seconds, kept, f"steps after {kept} have to be trained again")
    ]


def _time_of(series: Series, step: int) -> float:
    """When the last point up to `step` was written; the first point's time where none was."""
    before = series.times[series.steps <= step]
    before = before[np.isfinite(before)]
    return float(before.max()) if len(before) else float(np.nanmin(series.times))


def _waited(analysis: Analysis, series: Series) -> list[Loss]:
    """From the last point of a run that broke off to its last line, or as long as a watchdog says that it
    waited."""
    if not _crashes(analysis):
        return []
    times = series.times[np.isfinite(series.times)]
    silence = analysis.run.last_time - float(times.max())
    usual = float(np.median(np.diff(times)))
    seconds, basis = (
        silence if silence > max(PAUSE, 3.0 * usual) else 0.0,
        "from the last point to the last line",
    )
    waits = [wait for s in analysis.present if isinstance(wait := s.values.get("ran_ms"), int)]
    told = max(waits, default=0) / 1000.0
    if told > seconds:
        seconds, basis = told, "by the word of the watchdog that ended it"
    return [Loss("waiting before it broke off", seconds, int(series.steps[-1]), basis)] if seconds else []
