"""The parts of a rule at work: each node watches one condition of a `when` and says how it stands.

Nodes are rebuilt from the run whenever their parameters or their source of points change; since every detector is
chunk-invariant, a rebuilt node and one that saw the points arrive agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from hrmdoc import detectors, expressions
from hrmdoc.derived import rank_levels
from hrmdoc.detectors.trigger import Episode, Trigger
from hrmdoc.errors import RuleError
from hrmdoc.rulebook import EventWhen, LinesWhen, SilenceWhen, When
from hrmdoc.run import Fact, FloatArray, Line, Run, Series
from hrmdoc.signatures import SignatureMatch
from hrmdoc.symptom import State
from hrmdoc.tracks import PHASES, paired, phases, rewinds


@dataclass(frozen=True, slots=True)
class Finding:
    """How one condition stands; the fields are those of `Symptom`."""

    state: State
    role: str = ""
    metric: str = ""
    first_step: int | None = None
    last_step: int | None = None
    first_time: float | None = None
    count: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    rank: int | None = None
    missing: tuple[str, ...] = ()
    score: float | None = None


@dataclass(slots=True)
class Scene:
    """What a node may look at: the run, its canonical facts and where they stand, matched log lines, other symptoms' findings."""

    run: Run
    facts: Mapping[str, Any] = field(default_factory=dict)
    matches: Mapping[str, Sequence[tuple[Line, SignatureMatch]]] = field(default_factory=dict)
    found: Callable[[str], Finding | None] = lambda _: None
    closed: bool = False
    places: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def progress(self) -> Series | None:
        """The series that tells best how far training has come."""
        for role in ("train.loss", "lr", "grad_norm", "rl.reward", "step_time", "throughput"):
            if (series := self.run.best(role)) is not None:
                return series
        return None


class Node(Protocol):
    """One condition at work."""

    def look(self, scene: Scene) -> Finding:
        """Takes in what is new and says how the condition stands."""
        ...


def build(when: When, symptom: str, phase_names: tuple[str, ...] = ()) -> Node:
    """The node for `when`; `symptom` names the log lines that a `lines` condition counts."""
    form = when.form()
    if form == "detector":
        return DetectorNode(when, phase_names)
    if form == "lines":
        assert when.lines is not None
        return LinesNode(symptom, when.lines)
    if form == "check":
        assert when.check is not None
        return CheckNode(when.check)
    if form == "event":
        assert when.event is not None
        return EventNode(when.event)
    if form == "silence":
        assert when.silence is not None
        return SilenceNode(when.silence)
    if when.absent is not None:
        return AbsentNode(build(when.absent, symptom, phase_names))
    parts = [build(inner, symptom, phase_names) for inner in (when.all if when.all is not None else when.any) or ()]
    return AllNode(parts) if when.all is not None else AnyNode(parts)


class DetectorNode:
    """A detector on the best series of a role, or on the first of several roles that shows the condition."""

    def __init__(self, when: When, phase_names: tuple[str, ...]) -> None:
        roles = (when.role,) if isinstance(when.role, str) else (when.role or ())
        self._watches = [_Watch(when, role, phase_names) for role in roles]

    def look(self, scene: Scene) -> Finding:
        findings = [watch.look(scene) for watch in self._watches]
        return strongest(findings)


def strongest(findings: Sequence[Finding]) -> Finding:
    """The finding that tells most: present before resolved before absent before not evaluated, the earliest of equals."""
    if not findings:
        return Finding("not_evaluated")
    order = {"present": 0, "resolved": 1, "absent": 2, "not_evaluated": 3}
    best = min(findings, key=lambda f: (order[f.state], f.first_step if f.first_step is not None else 2**62))
    if best.state == "not_evaluated":
        return replace(best, missing=tuple(dict.fromkeys(name for f in findings for name in f.missing)))
    return best


class _Watch:
    """One detector on one role."""

    def __init__(self, when: When, role: str, phase_names: tuple[str, ...]) -> None:
        self._when = when
        self._role = role
        self._phases = phase_names
        self._series: Series | None = None
        self._identity: tuple[object, ...] = ()
        self._reset()

    def _reset(self) -> None:
        assert self._when.detector is not None
        self._detector = detectors.make(self._when.detector, self._when.with_)
        self._triggers = [self._new_trigger()]
        self._offsets = [0]
        self._taken = 0

    def _new_trigger(self) -> Trigger:
        when = self._when
        enter = float(when.enter if when.enter is not None else 0.5)
        leave = float(when.leave) if when.leave is not None else enter
        return Trigger(enter, leave, when.patience, when.leave_patience, when.direction)

    def look(self, scene: Scene) -> Finding:
        series = scene.run.best(self._role)
        other = scene.run.best(self._when.against) if self._when.against else None
        missing = tuple(r for r, s in ((self._role, series), (self._when.against, other)) if r and s is None)
        if series is None or (self._when.against and other is None):
            return Finding("not_evaluated", role=self._role, missing=missing)
        if other is not None and other is series:
            return Finding("not_evaluated", role=self._role, missing=(f"a {self._when.against} of its own",))
        falls = rewinds(series.steps)
        warmup, total = scene.facts.get("schedule.warmup_steps"), scene.facts.get("run.total_steps")
        identity = (id(series), id(other), falls.fresh, falls.wraps, *((warmup, total) if self._phases else ()))
        if identity != self._identity and (self._taken or not self._identity):
            stale = self._identity[:2] != identity[:2] or any(i < self._taken for i in falls.fresh if i not in self._offsets)
            if stale or self._identity[4:] != identity[4:] or (falls.wraps and len(self._offsets) > 1):
                self._reset()
        self._identity, self._series = identity, series
        self._feed(series, other, falls.fresh, falls.wraps, scene, warmup, total)
        return self._finding(series)

    def _feed(
        self, series: Series, other: Series | None, fresh: tuple[int, ...], wraps: bool, scene: Scene, warmup: Any, total: Any
    ) -> None:
        values: FloatArray = series.values
        steps = np.arange(len(values), dtype=np.int64) if wraps else series.steps
        if other is not None:
            values = paired(steps, values, other.steps, other.values, closed=scene.closed)
            fresh = ()
        stop = len(values)
        cuts = [self._taken, *(i for i in fresh if self._taken <= i < stop), stop]
        for begin, end in pairwise(cuts):
            if begin in fresh and begin not in self._offsets and begin > 0:
                assert self._when.detector is not None
                self._detector = detectors.make(self._when.detector, self._when.with_)
                self._triggers.append(self._new_trigger())
                self._offsets.append(begin)
            if end > begin:
                scores = self._detector.update(steps[begin:end], values[begin:end])
                if self._phases:
                    inside = np.isin(phases(steps[begin:end], warmup, total), [PHASES.index(p) for p in self._phases])
                    scores = np.where(inside, scores, np.nan)
                early = np.arange(begin, end) - self._offsets[-1] < self._when.min_points - 1
                self._triggers[-1].update(np.where(early, np.nan, scores))
        self._taken = stop

    def _finding(self, series: Series) -> Finding:
        trigger = self._triggers[-1]
        episodes = [(offset, e) for offset, t in zip(self._offsets, self._triggers, strict=True) for e in t.episodes]
        evaluated = sum(t.evaluated for t in self._triggers)
        metric = series.key.metric
        if not episodes:
            if len(series) < self._when.min_points:
                needed = f"{self._when.min_points} points of {self._role} (have {len(series)})"
                return Finding("not_evaluated", role=self._role, metric=metric, missing=(needed,))
            if not evaluated:
                return Finding("not_evaluated", role=self._role, metric=metric, missing=(f"more points of {self._role}",))
            return Finding("absent", role=self._role, metric=metric)
        if len(series) < self._when.min_points:
            needed = f"{self._when.min_points} points of {self._role} (have {len(series)})"
            return Finding("not_evaluated", role=self._role, metric=metric, missing=(needed,))
        open_now = bool(trigger.episodes) and trigger.episodes[-1].closed is None
        sign = -1.0 if self._when.direction == "below" else 1.0
        strongest_of = max(episodes, key=lambda pair: sign * pair[1].peak)
        offset, chosen = (self._offsets[-1], trigger.episodes[-1]) if open_now else strongest_of
        return self._describe(series, offset, chosen, len(episodes), open_now)

    def _describe(self, series: Series, offset: int, episode: Episode, count: int, open_now: bool) -> Finding:
        first, peak = offset + episode.start, offset + episode.peak_index
        last = len(series) - 1 if episode.closed is None else offset + episode.closed
        finite = series.values[offset : last + 1][np.isfinite(series.values[offset : last + 1])]
        values = {
            "value": float(series.values[offset + episode.opened]),
            "peak": float(series.values[peak]),
            "score": float(episode.peak),
            "first": float(series.values[offset]),
            "last": float(series.values[-1]),
            "best": float(finite.min()) if len(finite) else math.nan,
            "highest": float(finite.max()) if len(finite) else math.nan,
            "enter": self._when.enter,
            "episodes": count,
            "duration": last - first + 1,
            "points": len(series),
        }
        file, line = series.place(first)
        time = float(series.times[first])
        return Finding(
            "present" if open_now else "resolved",
            role=self._role,
            metric=series.key.metric,
            first_step=int(series.steps[first]),
            last_step=int(series.steps[last]),
            first_time=None if math.isnan(time) else time,
            count=count,
            values=values,
            file=file,
            line=line,
            rank=series.key.rank,
            score=float(episode.peak),
        )


class LinesNode:
    """Log lines that the signatures of a symptom matched. A fatal line that training outlived is over."""

    def __init__(self, symptom: str, when: LinesWhen) -> None:
        self._symptom = symptom
        self._when = when

    def look(self, scene: Scene) -> Finding:
        matches = scene.matches.get(self._symptom, ())
        if not matches:
            return Finding("absent" if scene.run.line_count or scene.run.lines else "not_evaluated", missing=("log lines",))
        if len(matches) < self._when.at_least:
            return Finding("absent", count=len(matches))
        roots = [pair for pair in matches if pair[1].signature.role == "root"] or list(matches)
        line, match = min(roots, key=lambda pair: pair[0].time if not math.isnan(pair[0].time) else math.inf)
        survived = (match.signature.fatal or self._when.recovers) and all(_outlived(scene, one) for one, _ in matches)
        steps = [one.step for one, _ in matches if one.step is not None]
        return Finding(
            "resolved" if survived else "present",
            first_step=line.step,
            last_step=max(steps, default=None),
            first_time=None if math.isnan(line.time) else line.time,
            count=len(matches),
            values={**match.groups, "text": line.text, "signature": match.signature.id, "role": match.signature.role},
            file=line.file,
            line=line.line,
            rank=line.rank,
        )


def _outlived(scene: Scene, line: Line) -> bool:
    """Training of the same file went on after `line`: later points stand behind it, or the steps went well past it."""
    progress = scene.progress
    if progress is None or not len(progress):
        return False
    file, place = progress.place(-1)
    if file == line.file and place is not None:
        behind = [progress.place(index)[1] for index in range(max(0, len(progress) - 3), len(progress))]
        return len(behind) == 3 and all(one is not None and one > line.line for one in behind)
    return line.step is not None and int(progress.steps[-1]) > line.step + 2


class CheckNode:
    """An expression over facts, series and other symptoms."""

    def __init__(self, text: str) -> None:
        self._expression = expressions.compile_expression(text)

    def look(self, scene: Scene) -> Finding:
        names = dict(scene.facts)
        try:
            holds = self._expression(names, functions(scene))
        except expressions.MissingInput as missing:
            return Finding("not_evaluated", missing=(missing.name,))
        except RuleError as error:
            # A run may state anything, a word where a number belongs too: that is no verdict on its health.
            return Finding("not_evaluated", missing=(error.what,))
        values = {name: names[name] for name in self._expression.names if name in names and name != "config.read"}
        place = next((scene.places[name] for name in values if name in scene.places), None)
        file, line = (place.file, place.line) if place else ("", None)
        return Finding("present" if holds else "absent", values=values, file=file, line=line)


def functions(scene: Scene) -> dict[str, Callable[..., Any]]:
    """What an expression may call on series and symptoms: `last(train.loss)`, `count(eval.loss)`, `present('loss-zero')`,
    and, without ever missing an input, `known(lora.rank)`."""

    def values_of(role: str) -> FloatArray:
        series = scene.run.best(role)
        if series is None or not len(series):
            raise expressions.MissingInput(role)
        return series.values

    def finite(role: str) -> FloatArray:
        values = values_of(role)
        values = values[np.isfinite(values)]
        if not len(values):
            raise expressions.MissingInput(role)
        return values

    def present(symptom: str) -> bool:
        finding = scene.found(symptom)
        if finding is None or finding.state == "not_evaluated":
            raise expressions.MissingInput(symptom)
        return finding.state == "present"

    def seen(symptom: str) -> bool:
        """It is present or was, whatever its inputs."""
        finding = scene.found(symptom)
        return finding is not None and finding.state in ("present", "resolved")

    def count(role: str) -> int:
        series = scene.run.best(role)
        return 0 if series is None else len(series)

    def last_step(role: str) -> int:
        series = scene.run.best(role)
        if series is None or not len(series):
            raise expressions.MissingInput(role)
        return int(series.steps.max())

    def rank_ratio(role: str) -> float:
        """The highest rank's level over the median of all ranks."""
        levels = list(rank_levels(scene.run, role).values())
        if len(levels) < 3 or float(np.median(levels)) <= 0:
            raise expressions.MissingInput(f"{role} of three ranks")
        return max(levels) / float(np.median(levels))

    def rank_spread(role: str) -> float:
        """Highest minus lowest level over the median of all ranks."""
        levels = list(rank_levels(scene.run, role).values())
        if len(levels) < 2 or float(np.median(levels)) == 0:
            raise expressions.MissingInput(f"{role} of two ranks")
        return (max(levels) - min(levels)) / abs(float(np.median(levels)))

    return {
        "rank_ratio": rank_ratio,
        "rank_spread": rank_spread,
        "first": lambda role: float(finite(role)[0]),
        "last": lambda role: float(finite(role)[-1]),
        "min_of": lambda role: float(finite(role).min()),
        "max_of": lambda role: float(finite(role).max()),
        "mean_of": lambda role: float(finite(role).mean()),
        "median_of": lambda role: float(np.median(finite(role))),
        "count": count,
        "last_step": last_step,
        "present": present,
        "seen": seen,
        "known": lambda name: scene.facts.get(name) is not None,
    }


class EventNode:
    """Events of one kind, often enough, within so little progress."""

    def __init__(self, when: EventWhen) -> None:
        self._when = when
        self._pattern = re.compile(when.pattern) if when.pattern else None

    def look(self, scene: Scene) -> Finding:
        kinds = {"restart", "resume"} if self._when.kind == "restart" else {self._when.kind}
        events = [
            event
            for event in scene.run.events
            if event.kind in kinds and (self._pattern is None or self._pattern.search(event.detail))
        ]
        if not scene.run.events:
            return Finding("not_evaluated", missing=("lifecycle events",))
        if len(events) < self._when.at_least:
            return Finding("absent", count=len(events))
        recent = events[-self._when.at_least :]
        steps = [event.step for event in recent if event.step is not None]
        if self._when.within_steps is not None and (len(steps) < 2 or max(steps) - min(steps) > self._when.within_steps):
            return Finding("absent", count=len(events))
        first = recent[0]
        return Finding(
            "present",
            first_step=first.step,
            last_step=recent[-1].step,
            first_time=None if math.isnan(first.time) else first.time,
            count=len(events),
            values={"detail": recent[-1].detail},
            file=recent[-1].file,
            line=recent[-1].line,
            rank=first.rank,
        )


class SilenceNode:
    """No record for much longer than usual. Only the clock can tell: post-mortem it is not evaluated."""

    def __init__(self, when: SilenceWhen) -> None:
        self._when = when

    def look(self, scene: Scene) -> Finding:
        clock, series = scene.run.clock, scene.progress
        if clock is None or clock.closed or series is None:
            return Finding("not_evaluated", missing=("a live run",))
        times = series.times[np.isfinite(series.times)]
        if len(times) < 3:
            return Finding("not_evaluated", missing=("3 timed points",))
        usual = float(np.median(np.diff(times[-200:])))
        quiet, limit = clock.time - float(times.max()), max(self._when.factor * usual, self._when.floor)
        values = {"value": quiet, "usual": usual, "enter": limit}
        step, at = int(series.steps[-1]), float(times[-1])
        if quiet < limit:
            return Finding("absent", values=values)
        return Finding("present", first_step=step, last_step=step, first_time=at, count=1, values=values)


class AllNode:
    """Every part is present; it began when the last part began."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self._parts = parts

    def look(self, scene: Scene) -> Finding:
        findings = [part.look(scene) for part in self._parts]
        states = {finding.state for finding in findings}
        if "absent" in states:
            return replace(next(f for f in findings if f.state == "absent"), count=0)
        if "not_evaluated" in states:
            return Finding("not_evaluated", missing=tuple(dict.fromkeys(n for f in findings for n in f.missing)))
        lead = next((f for f in findings if f.metric or f.file), findings[0])
        began = [f.first_step for f in findings if f.first_step is not None]
        ended = [f.last_step for f in findings if f.state == "resolved" and f.last_step is not None]
        if began and ended and max(began) > min(ended):
            return replace(lead, state="absent", count=0)  # one part was over before another began
        merged = {key: value for f in reversed(findings) for key, value in f.values.items()}
        state: State = "resolved" if "resolved" in states else "present"
        return replace(lead, state=state, first_step=max(began, default=None), values=merged)


class AnyNode:
    """One part is present; the earliest speaks."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self._parts = parts

    def look(self, scene: Scene) -> Finding:
        return strongest([part.look(scene) for part in self._parts])


class AbsentNode:
    """Its part is evaluated and not present."""

    def __init__(self, part: Node) -> None:
        self._part = part

    def look(self, scene: Scene) -> Finding:
        finding = self._part.look(scene)
        if finding.state == "not_evaluated":
            return finding
        return Finding("absent" if finding.state == "present" else "present", role=finding.role, metric=finding.metric)
