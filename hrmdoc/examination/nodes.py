"""The parts of a rule: each node watches one condition of a `when` and says how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

from msgspec.structs import replace

from hrmdoc.examination.checks import CheckNode
from hrmdoc.examination.lifecycle import EventNode, SilenceNode
from hrmdoc.examination.messages import LinesNode
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.watching import DetectorNode, strongest
from hrmdoc.rulebook import When


class Node(Protocol):
    """One condition at work."""

    def evaluate(self, scene: Scene) -> Finding:
        """Takes in what is new and says how the condition stands."""
        ...


def build(when: When, symptom: str, phase_names: tuple[str, ...] = (), about: Sequence[str] = ()) -> Node:
    """The node for `when`; `symptom` names the log lines that a `lines` condition counts, `about` the roles
    of which the rule speaks."""
    form = when.form()
    if form == "detector":
        return DetectorNode(when, phase_names)
    if form == "lines":
        assert when.lines is not None
        return LinesNode(symptom, when.lines)
    if form == "check":
        assert when.check is not None
        return CheckNode(when.check, about)
    if form == "event":
        assert when.event is not None
        return EventNode(when.event)
    if form == "silence":
        assert when.silence is not None
        return SilenceNode(when.silence)
    if when.absent is not None:
        return AbsentNode(build(when.absent, symptom, phase_names, about))
    parts = [build(inner, symptom, phase_names, about) for inner in when.parts]
    return AllNode(parts) if when.all is not None else AnyNode(parts)


class AllNode:
    """Every part is present; it began when the last part began."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self._parts = parts

    def evaluate(self, scene: Scene) -> Finding:
        findings = self._findings(scene)
        unmet = _unmet(findings)
        if unmet is not None:
            return unmet
        lead = next((f for f in findings if f.metric or f.file), findings[0])
        began, ended = _last_begin(findings), _first_end(findings)
        if began is not None and ended is not None and began > ended:
            return replace(lead, state="absent", count=0)  # one part was over before another began
        merged = {key: value for f in reversed(findings) for key, value in f.values.items()}
        over = any(f.state == "resolved" for f in findings)
        return replace(lead, state="resolved" if over else "present", first_step=began, values=merged)

    def _findings(self, scene: Scene) -> list[Finding]:
        """What the parts say. Behind one that is absent a check is not asked: it keeps nothing from one time
        to the next, and its answer would change nothing."""
        findings: list[Finding] = []
        absent = False
        for part in self._parts:
            if not (absent and isinstance(part, CheckNode)):
                findings.append(part.evaluate(scene))
                absent = absent or findings[-1].state == "absent"
        return findings


def _unmet(findings: Sequence[Finding]) -> Finding | None:
    """Why not all parts show: one is absent, or some are not evaluated; None when they all do."""
    absent = next((f for f in findings if f.state == "absent"), None)
    if absent is not None:
        return replace(absent, count=0)
    missing = [f.missing for f in findings if f.state == "not_evaluated"]
    if not missing:
        return None
    return Finding("not_evaluated", missing=tuple(dict.fromkeys(chain.from_iterable(missing))))


def _last_begin(findings: Sequence[Finding]) -> int | None:
    """The step at which the last part began, None where no part says.

    An expression that only came true later says nothing of when the thing itself began, so it is asked only
    where nothing else is.
    """
    begun = [(f.first_step, f.count) for f in findings if f.first_step is not None]
    counted = [step for step, count in begun if count]
    return max(counted or [step for step, _ in begun], default=None)


def _first_end(findings: Sequence[Finding]) -> int | None:
    """The step at which the first part was over, None where none is."""
    ended = (f.last_step for f in findings if f.state == "resolved" and f.last_step is not None)
    return min(ended, default=None)


class AnyNode:
    """One part is present; the earliest speaks."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self._parts = parts

    def evaluate(self, scene: Scene) -> Finding:
        return strongest([part.evaluate(scene) for part in self._parts])


class AbsentNode:
    """Its part is evaluated and not present."""

    def __init__(self, part: Node) -> None:
        self._part = part

    def evaluate(self, scene: Scene) -> Finding:
        finding = self._part.evaluate(scene)
        if finding.state == "not_evaluated":
            return finding
        return Finding(
            "absent" if finding.state == "present" else "present", role=finding.role, metric=finding.metric
        )
