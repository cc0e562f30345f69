"""Facts that no file states but the records tell together: ages, delays, what a device should reach."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hrmdoc.beats import ENDED
from hrmdoc.examination.tracks import rewinds
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import Event, IntArray, Line, Tick
from hrmdoc.record.run import Run
from hrmdoc.roles.typical import typical_facts
from hrmdoc.rulebook import Rulebook
from hrmdoc.text.platforms import platform_in

ENOUGH_TIMES = 20
"""Points with times that tell what pause between two of them is usual."""
HOUR = 3600.0

ENOUGH = 5
"""Gradient norms before the break that tell what is usual."""
EXPLODED = 10.0
"""A gradient norm so many times its median has left its range."""

SAME_MOMENT = 120.0
"""Seconds between the last record and the last write of its file, up to which the file is the one that the
run wrote."""

BEGINNING = 0.05
"""Share of the steps behind it up to which the first point of a log belongs to the beginning of the run."""

LINES = 1000
"""Noteworthy lines that are asked for the platform."""

FINISHED = 0.98
"""Share of the planned steps from which a run is as good as finished: the last points are often not
logged."""


def derived(run: Run, facts: Mapping[str, Any], book: Rulebook) -> dict[str, Any]:
    """Derived canonical facts; those already known are not given again."""
    found = (
        dict(_alive(run, facts))
        | dict(_stood_still(run, facts))
        | dict(_ended(run, facts))
        | dict(_contradicted(run))
        | dict(_learning_rate(run))
        | typical_facts({**facts, **dict(_loss_level(run))}, book.typical.values())
        | dict(_start(run))
        | dict(_platform(run))
        | dict(_length(run, facts))
        | dict(_checkpoint(run))
        | dict(_phase(run, facts))
        | dict(_broken(run))
        | dict(_resumed(run))
        | dict(_gap(run))
    )
    return {key: value for key, value in found.items() if facts.get(key) is None}


def _alive(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Age of the last sign of life of a run that told of no end and may still live.

    That is its heartbeat, or its last record where that is short of the planned steps. While a run is
    watched, the watcher's clock tells the age. Afterwards the files tell it, and only if they were last
    written when the run last spoke: a copy or an excerpt says nothing about when and how the run ended.
    """
    gone = run.fact("run.process_alive")
    if any(event.kind == "end" for event in run.events) or (gone is not None and gone.value is False):
        return
    if (stated := run.fact("heartbeat.state")) is not None and stated.value in ENDED:
        return
    watched = run.clock or Tick()
    if (age := _heartbeat_age(run, watched)) is not None:
        if math.isfinite(age):
            yield "run.heartbeat_age", age
            yield "run.heartbeat_interval", 1.0
        return
    unwatched = watched.closed and math.isnan(watched.quiet)
    age = _unheard(run, run.last_time) if unwatched and not _last_words(run) else math.nan
    if math.isfinite(age) and _unfinished(run, facts):
        yield "run.silent_for", age
        yield "run.usual_interval", _interval(run)


def _heartbeat_age(run: Run, watched: Tick) -> float | None:
    """Seconds since the heartbeat was renewed, NaN where nothing tells; None where there is no heartbeat."""
    if math.isfinite(watched.heartbeat):
        return watched.heartbeat
    stated = run.fact("heartbeat.time")
    if stated is None or not isinstance(stated.value, int | float):
        return None
    return _unheard(run, float(stated.value))


def _stood_still(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """How long a run that has ended made no progress before its last message: since its last point, or since
    its start where it has none. The stamps are of one log, so that their zone does not matter."""
    series = run.progress
    planned = series is not None and facts.get("run.total_steps") is not None
    if run.clock is None or not run.clock.closed or (planned and not _unfinished(run, facts)):
        return
    begun = [event.time for event in run.events if event.kind == "start" and math.isfinite(event.time)]
    progress = float(series.times[-1]) if series is not None else max(begun, default=math.nan)
    if math.isfinite(still := run.last_time - progress):
        yield "run.silent_before_end", still
        yield "run.usual_interval", _interval(run)


def _contradicted(run: Run) -> Iterator[tuple[str, Any]]:
    """The source whose loss ends in values that are not finite, where a better source of the same metric has
    none: loggers leave such rows out, and a log of another attempt is none the better for it."""
    for role in ("train.loss", "eval.loss"):
        found = run.with_role(role)
        for series in found[1:]:
            same = series.key.metric == found[0].key.metric
            if same and len(series) >= 3 and not np.isfinite(series.values[-3:]).any():
                yield "run.nonfinite_source", series.place(-1)[0]


def _ended(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The epoch in which a run ended that had more to come and said nothing of an end, and for how long its
    file has been as it is."""
    begun, epochs = facts.get("run.epochs_begun"), facts.get("run.epochs")
    said = any(event.kind == "end" for event in run.events) or _last_words(run)
    seen, watched = run.sighting, run.clock or Tick()
    if not isinstance(begun, int) or not isinstance(epochs, int) or said or facts.get("eval.early_stopping"):
        return
    if watched.closed and seen is not None and seen.written > 0 and begun < epochs:
        yield "run.ended_in_epoch", begun
        yield "run.untouched_for", max(0.0, seen.at - seen.written)


def _last_words(run: Run) -> bool:
    """Whether an exception or a message that the rules know came last: then the run did not fall silent
    without a word."""
    raised = [event for event in run.events if event.kind == "exception"]
    last: list[Line | Event] = [*raised[-1:], *run.lines[-1:]]
    return any(not run.outlived(record) for record in last)


def _unfinished(run: Run, facts: Mapping[str, Any]) -> bool:
    """Whether the last step is short of the planned ones, and nothing was to end the run before them."""
    series, total = run.progress, facts.get("run.total_steps")
    planned = isinstance(total, int | float) and not facts.get("eval.early_stopping")
    return series is not None and planned and int(series.steps[-1]) < FINISHED * float(total or 0)


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


def _learning_rate(run: Run) -> Iterator[tuple[str, Any]]:
    """The peak of the logged learning rate stands for the configured one where no config tells it."""
    series = run.best("lr")
    if series is not None and not series.role.guessed:
        finite = series.values[np.isfinite(series.values)]
        if len(finite) and float(finite.max()) > 0:
            yield "optimizer.lr", float(finite.max())


def _start(run: Run) -> Iterator[tuple[str, Any]]:
    series = run.progress
    begun = [event.time for event in run.events if event.kind == "start" and math.isfinite(event.time)]
    first = math.nan if series is None else float(series.times[0])
    before = [time for time in begun if time <= first]
    if before:  # the newest: earlier attempts came to no step
        yield "run.seconds_to_first_step", first - max(before)


def _platform(run: Run) -> Iterator[tuple[str, str]]:
    """The platform of the GPUs where a version, a device, a config or a message names it."""
    said = [fact.value for fact in run.facts.values() if isinstance(fact.value, str)]
    said += [line.text for line in run.lines[:LINES]]
    if platform := next(filter(None, map(platform_in, said)), ""):
        yield "device.platform", platform


def _loss_level(run: Run) -> Iterator[tuple[str, Any]]:
    """The median of the training loss, by which tables tell its unit."""
    series = run.best("train.loss")
    finite = np.empty(0) if series is None else series.values[np.isfinite(series.values)]
    if len(finite):
        yield "run.loss_level", middle(finite)


def _length(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where the run is planned to end, in what the log counts by: steps, or epochs in a log of one point an
    epoch."""
    series = run.progress
    steps, epochs = facts.get("run.total_steps"), facts.get("run.epochs")
    planned = steps
    if series is not None and isinstance(epochs, int | float) and (series.axis == "epoch" or steps is None):
        planned = epochs if int(series.steps[-1]) <= epochs else steps
    if isinstance(planned, int | float) and planned > 0:
        yield "run.planned_length", planned


def _checkpoint(run: Run) -> Iterator[tuple[str, Any]]:
    """Steps since the last checkpoint, and the usual seconds between two; nothing where none is told of."""
    series = run.progress
    events = [event for event in run.events if event.kind == "checkpoint"]
    saved = [event.step for event in events if event.step is not None]
    if series is not None and saved:
        yield "run.steps_since_checkpoint", max(0, int(series.steps[-1]) - saved[-1])
    times = [event.time for event in events if math.isfinite(event.time)]
    apart = [later - sooner for sooner, later in itertools.pairwise(times) if later > sooner]
    if apart:
        yield "run.checkpoint_seconds", middle(np.array(apart))


def _phase(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where the run stands now: `warmup`, `early` (first tenth), `middle` or `end` (last tenth)."""
    series, total = run.progress, facts.get("run.total_steps")
    if series is None:
        return
    step, warmup = int(series.steps[-1]), facts.get("schedule.warmup_steps")
    if isinstance(warmup, int | float) and step <= warmup:
        yield "run.phase", "warmup"
    elif isinstance(total, int | float) and total > 0:
        share = step / total
        yield "run.phase", "early" if share < 0.1 else "end" if share > 0.9 else "middle"


def _broken(run: Run) -> Iterator[tuple[str, Any]]:
    """Which pass broke first when the loss is not finite: `backward` where the gradient norm went before it,
    else `forward`.

    Forward is claimed only where every step is logged, since between two points the gradients may have
    exploded unseen.
    """
    loss, grad = run.best("train.loss"), run.best("grad_norm")
    if loss is None or grad is None:
        return
    broken = np.flatnonzero(~np.isfinite(loss.values))
    if not len(broken):
        return
    at = int(loss.steps[broken[0]])
    earlier = grad.values[grad.steps < at]
    usual = earlier[np.isfinite(earlier)]
    if len(usual) < ENOUGH:
        return
    before = float(earlier[-1])
    if not math.isfinite(before) or before > EXPLODED * float(np.median(usual)):
        yield "run.nonfinite_from", "backward"
    elif at - int(grad.steps[grad.steps < at][-1]) <= 1:
        yield "run.nonfinite_from", "forward"


def _resumed(run: Run) -> Iterator[tuple[str, Any]]:
    """What the last resume did: learning rate after over before, and the rise of the loss in units of its
    scatter.

    The rise is that of the first three points over the median of those before, each in units of their usual
    distance from one another (2 % of the level at least), put together by Stouffer's method: noise alone
    gives a standard normal variable. Also which share of all that had been gained since the start was lost.
    """
    moments = [event.step for event in run.events if event.kind == "resume" and event.step]
    lr, loss = run.best("lr"), run.best("train.loss")
    yield from _resumes(run, len(moments))
    if not moments:
        return
    if lr is not None and not lr.role.guessed:
        at = _first_after(lr.steps, moments[-1])
        if at >= 1 and at < len(lr) and lr.values[at - 1] > 0:
            yield "run.resume_lr_ratio", float(lr.values[at] / lr.values[at - 1])
    if loss is not None:
        at = _first_after(loss.steps, moments[-1])
        before, after = loss.values[max(0, at - 16) : at], loss.values[at : at + 3]
        if len(before) >= 8 and len(after) == 3 and np.isfinite(before).all():
            level = float(np.median(before))
            scatter = max(1.05 * float(np.median(np.abs(np.diff(before)))), 0.02 * abs(level), 1e-12)
            yield "run.resume_loss_rise", float((after - level).sum() / scatter / math.sqrt(3.0))
            if (gained := float(loss.values[:3].max()) - level) > 3.0 * scatter:
                yield "run.resume_loss_lost", float(after.max() - level) / gained


def _resumes(run: Run, resumes: int) -> Iterator[tuple[str, int]]:
    """How often the run was resumed. Never is claimed only of a log that counts steps and begins where the
    run began."""
    series = run.progress
    if resumes or (
        series is not None
        and series.axis != "epoch"
        and int(series.steps[0]) <= BEGINNING * int(series.steps[-1])
    ):
        yield "run.resumes", resumes


def _first_after(steps: IntArray, step: int) -> int:
    """Index of the first point behind a resume at `step`: where the steps fell back to it, else the first
    beyond it."""
    back = [index for index in rewinds(steps).resumed if steps[index - 1] >= step]
    return back[-1] if back else int(np.searchsorted(steps, step, side="right"))
