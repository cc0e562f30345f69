"""How long nothing was heard of a run: the age of its last sign of life, and pauses on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hrmdoc.beats import ENDED
from hrmdoc.record.records import Event, Line, Tick
from hrmdoc.record.run import Run

ENOUGH_TIMES = 20
"""Points with times that tell what pause between two of them is usual."""
HOUR = 3600.0
SAME_MOMENT = 120.0
"""Seconds between the last record and the last write of its file, up to which the file is the one that the
run wrote: buffers are flushed within them."""


def silences(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the clock says of a run, seconds."""
    yield "run.usual_interval", _interval(run)
    yield from _alive(run)
    yield from _stood_still(run)
    yield from _ended(run, facts)
    yield from _gap(run)


def _alive(run: Run) -> Iterator[tuple[str, Any]]:
    """Age of the last sign of life of a run that told of no end and may still live.

    That is its heartbeat, or its last record. While a run is watched, the watcher's clock tells the age.
    Afterwards the files tell it, and only if they were last written when the run last spoke: a copy or an
    excerpt says nothing about when and how the run ended.
    """
    if _is_over(run):
        return
    watched = run.clock or Tick()
    if (age := _heartbeat_age(run, watched)) is not None:
        if math.isfinite(age):
            yield "run.heartbeat_age", age
            yield "run.heartbeat_interval", 1.0
        return
    unwatched = watched.closed and math.isnan(watched.quiet)
    age = _unheard(run, run.last_time) if unwatched and not _last_words(run) else math.nan
    if math.isfinite(age):
        yield "observed.silent_for", age


def _is_over(run: Run) -> bool:
    """Whether it said so, its heartbeat does, or its process is gone."""
    process, heartbeat = run.fact("run.process_alive"), run.fact("heartbeat.state")
    gone = process is not None and process.value is False
    return run.end is not None or gone or (heartbeat is not None and heartbeat.value in ENDED)


def _heartbeat_age(run: Run, watched: Tick) -> float | None:
    """Seconds since the heartbeat was renewed, NaN where nothing tells; None where there is no heartbeat."""
    if math.isfinite(watched.heartbeat):
        return watched.heartbeat
    stated = run.fact("heartbeat.time")
    if stated is None or not isinstance(stated.value, int | float):
        return None
    return _unheard(run, float(stated.value))


def _stood_still(run: Run) -> Iterator[tuple[str, Any]]:
    """How long a run that has ended made no progress before its last message: since its last point, or since
    its start where it has none. The stamps are of one log, so that their zone does not matter."""
    series = run.progress
    if run.clock is None or not run.clock.closed:
        return
    begun = [time for _, time in run.events.moments("start") if math.isfinite(time)]
    progress = float(series.times[-1]) if series is not None else max(begun, default=math.nan)
    if math.isfinite(still := run.last_time - progress):
        yield "observed.silent_before_end", still


def _ended(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The epoch in which a run ended that had more to come and said nothing of an end, and for how long its
    file has been as it is."""
    begun, epochs = facts.get("run.epochs_begun"), facts.get("run.epochs")
    seen, watched = run.sighting, run.clock or Tick()
    if not isinstance(begun, int) or not isinstance(epochs, int) or begun >= epochs:
        return
    if run.end is not None or _last_words(run) or facts.get("eval.early_stopping"):
        return
    if watched.closed and seen is not None and seen.written > 0:
        yield "run.ended_in_epoch", begun
        yield "run.untouched_for", max(0.0, seen.at - seen.written)


def _last_words(run: Run) -> bool:
    """Whether an exception or a message that the rules know came last: then the run did not fall silent
    without a word."""
    raised = [*run.events.of("exception")]
    last: list[Line | Event] = [*raised[-1:], *run.lines[-1:]]
    return any(not run.outlived(record) for record in last)


def _unheard(run: Run, last: float) -> float:
    """Seconds from the last sign of life, stamped `last`, until the run was looked at; NaN where its files
    say nothing about it.

    A stamp without a zone was read as UTC: it may be off by the zone of this machine.
    """
    seen = run.sighting
    if seen is None or not math.isfinite(last):
        return math.nan
    zone = time.localtime(seen.written).tm_gmtoff
    same = min(abs(seen.written - last), abs(seen.written - (last - zone))) <= SAME_MOMENT
    return max(0.0, seen.at - seen.written) if same else math.nan


def _gap(run: Run) -> Iterator[tuple[str, Any]]:
    """The longest pauses between two points of a run that went on by itself, and the usual one.

    An hour more than usual and no second besides is the change to summer time.
    """
    series = run.progress
    if series is None or len(series) < ENOUGH_TIMES:
        return
    pauses = np.diff(series.times)
    pauses[np.diff(series.steps) <= 0] = np.nan  # a restart, which says so itself
    usual = float(np.nanmedian(pauses)) if np.isfinite(pauses).any() else math.nan
    if not usual >= 0:
        return
    pauses[np.abs(pauses - usual - HOUR) <= max(2.0, usual)] = np.nan
    known = np.flatnonzero(np.isfinite(pauses))
    if len(known) < ENOUGH_TIMES - 1:
        return
    second, longest = known[np.argsort(pauses[known])[-2:]]
    yield "run.longest_gap", float(pauses[longest])
    yield "run.second_gap", float(pauses[second])
    yield "run.usual_gap", usual
    yield "run.gap_step", int(series.steps[longest])


def _interval(run: Run) -> float:
    """Longest of the usual pauses between two points, seconds: nine in ten are shorter; 0 where no times are
    known."""
    series = run.progress
    times = np.empty(0) if series is None else series.times[np.isfinite(series.times)]
    return float(np.quantile(np.diff(times), 0.9)) if len(times) > 2 else 0.0
