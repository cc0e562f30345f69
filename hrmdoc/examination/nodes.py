"""The parts of a rule: each node watches one condition of a `when` and says how it stands."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

import numpy as np

from hrmdoc.errors import RuleError
from hrmdoc.examination.evidence import behind_bar
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.symptom import State
from hrmdoc.examination.watching import DetectorNode, strongest
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.rulebook import EventWhen, LinesWhen, SilenceWhen, When, expressions


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
    parts = [build(inner, symptom, phase_names) for inner in when.parts]
    return AllNode(parts) if when.all is not None else AnyNode(parts)


def _has_log(run: Run) -> bool:
    """Whether any text was read. Lines that the comparison of flight records makes are no log that others
    could be absent in."""
    return bool(run.line_count or (run.lines and run.formats != ["flight_recorder"]))


_TOLD_WITHIN = 300
"""Lines: between a refusal of memory and the word that it was caught stands what the devices hold, a table
for each of them."""


class LinesNode:
    """Log lines that the signatures of a symptom matched. A fatal line is over once training outlived it or
    says so."""

    def __init__(self, symptom: str, when: LinesWhen) -> None:
        self._symptom = symptom
        self._when = when

    def look(self, scene: Scene) -> Finding:
        matches = scene.matches.get(self._symptom, ())
        if not matches:
            return Finding("absent" if _has_log(scene.run) else "not_evaluated", missing=("log lines",))
        if len(matches) < self._when.at_least:
            return Finding("absent", count=len(matches))
        roots = [pair for pair in matches if pair[1].signature.role == "root"] or list(matches)
        line, match = min(roots, key=lambda pair: pair[0].time if not math.isnan(pair[0].time) else math.inf)
        lasting = match.signature.fatal or self._when.recovers
        survived = (lasting and all(scene.run.outlived(one) for one, _ in matches)) or self._got_over(scene)
        steps = [one.step for one, _ in matches if one.step is not None]
        return Finding(
            "resolved" if survived else "present",
            first_step=line.step,
            last_step=max(steps, default=None),
            first_time=None if math.isnan(line.time) else line.time,
            count=len(matches),
            values={
                **match.groups,
                "text": behind_bar(line.text, match.signature.pattern),
                "signature": match.signature.id,
                "role": match.signature.role,
            },
            file=line.file,
            line=line.line,
            rank=line.rank,
        )

    def _got_over(self, scene: Scene) -> bool:
        """Whether the program says behind every line, or in it, that it goes on."""
        told: dict[str, list[int]] = {}
        if self._when.got_over:
            for line, match in chain.from_iterable(scene.matches.values()):
                if match.signature.id == self._when.got_over:
                    told.setdefault(line.file, []).append(line.line)
        if not told:
            return False
        for numbers in told.values():
            numbers.sort()
        return all(_follows(line.line, told.get(line.file, [])) for line, _ in scene.matches[self._symptom])


def _follows(line: int, told: Sequence[int]) -> bool:
    """Whether one of the numbers `told`, which ascend, is `line` or stands shortly behind it."""
    index = bisect_left(told, line)
    return index < len(told) and told[index] - line <= _TOLD_WITHIN


class CheckNode:
    """An expression over facts, series and other symptoms."""

    def __init__(self, text: str) -> None:
        self._expression = expressions.compile_expression(text)

    def look(self, scene: Scene) -> Finding:
        names = dict(scene.facts)
        questions = Questions(scene)
        try:
            holds = self._expression(names, questions.functions())
        except expressions.MissingInput as missing:
            return Finding("not_evaluated", missing=(missing.name,))
        except RuleError as error:
            # A run may state anything, a word where a number belongs too: that is no verdict on its health.
            return Finding("not_evaluated", missing=(error.what,))
        values = {
            name: names[name] for name in self._expression.names if name in names and name != "config.read"
        }
        place = next((scene.places[name] for name in values if name in scene.places), None)
        file, line = (place.file, place.line) if place else ("", None)
        finding = Finding(
            "present" if holds else "absent", values=values, file=file, line=line, rank=questions.rank
        )
        if not holds or not questions.asked:
            return finding
        step, time = self._since(scene, questions.asked)
        return replace(told_of(finding, questions.asked[0]), first_step=step, first_time=time)

    def _since(self, scene: Scene, asked: Sequence[Series]) -> tuple[int | None, float | None]:
        """The step from which the expression holds, found by halving: it did not right before, whatever it
        did long before.

        None where its series count different things, so that no step cuts them all at the same moment.
        """
        if len({series.axis for series in asked}) > 1:
            return None, None
        series = max(asked, key=len)
        steps = np.maximum.accumulate(series.steps[max(scene.falls(series).fresh, default=0) :])
        low, high = -1, len(steps) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._held(scene, int(steps[middle])) else (middle, high)
        time = float(series.times[len(series) - len(steps) + high])
        return int(steps[high]), time if math.isfinite(time) else None

    def _held(self, scene: Scene, until: int) -> bool:
        try:
            return bool(self._expression(dict(scene.facts), Questions(scene, until).functions()))
        except (expressions.MissingInput, RuleError):
            return False


def told_of(finding: Finding, series: Series) -> Finding:
    """`finding` with what a sentence about `series` needs."""
    finite = series.values[np.isfinite(series.values)]
    numbers = {
        "first": float(series.values[0]),
        "last": float(series.values[-1]),
        "best": float(finite.min()) if len(finite) else math.nan,
        "highest": float(finite.max()) if len(finite) else math.nan,
        "points": len(series),
    }
    if not len(finite):
        numbers |= {"value": float(series.values[-1]), "duration": len(series)}
    role, metric = series.role.role or "", series.key.metric
    return replace(finding, role=role, metric=metric, values={**numbers, **finding.values})


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
        if self._when.within_steps is not None and (
            len(steps) < 2 or max(steps) - min(steps) > self._when.within_steps
        ):
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
    """No progress for much longer than usual, by the clock of who watches: post-mortem it is not evaluated,
    and a run that told of its end, or reached its last step, is not silent."""

    def __init__(self, when: SilenceWhen) -> None:
        self._when = when

    def look(self, scene: Scene) -> Finding:
        run, clock, series = scene.run, scene.run.clock, scene.run.progress
        if clock is None or math.isnan(clock.quiet) or not (run.points or run.line_count or run.events):
            return Finding("not_evaluated", missing=("a live run",))
        usual = self._usual(scene)
        limit = self._when.start if math.isnan(usual) else max(self._when.factor * usual, self._when.floor)
        values = {"value": clock.quiet, "usual": usual, "enter": limit}
        if clock.quiet < limit or self._ended(scene):
            return Finding("absent", values=values)
        if series is None:
            return Finding("present", count=1, values=values)
        at = float(series.times[-1])
        step, time = int(series.steps[-1]), at if math.isfinite(at) else None
        return Finding("present", first_step=step, last_step=step, first_time=time, count=1, values=values)

    def _usual(self, scene: Scene) -> float:
        """The usual seconds between two points: differences of their own stamps, or as the watcher saw them;
        NaN for fewer than three."""
        series, clock = scene.run.progress, scene.run.clock
        times = np.empty(0) if series is None else series.times[np.isfinite(series.times)]
        if len(times) < 3:
            return math.nan if clock is None else clock.usual
        return max(0.0, float(np.median(np.diff(times[-200:]))))

    def _ended(self, scene: Scene) -> bool:
        series, total = scene.run.progress, scene.facts.get("run.total_steps")
        if any(event.kind == "end" for event in scene.run.events):
            return True
        return series is not None and isinstance(total, int | float) and int(series.steps[-1]) >= total - 1


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
            return Finding(
                "not_evaluated", missing=tuple(dict.fromkeys(n for f in findings for n in f.missing))
            )
        lead = next((f for f in findings if f.metric or f.file), findings[0])
        told = [f for f in findings if f.first_step is not None]
        # an expression that only came true later says nothing of when the thing itself began
        began = [
            f.first_step
            for f in told
            if f.first_step is not None and (f.count or not any(g.count for g in told))
        ]
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
        return Finding(
            "absent" if finding.state == "present" else "present", role=finding.role, metric=finding.metric
        )
