"""Since when an expression holds, by the courses of what it asks for; no prefix of a run is asked again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from hrmdoc import measures
from hrmdoc.examination.questions import Questions, asked_of_symptoms
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.measures.function import Curve, Function
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import Series
from hrmdoc.rulebook.expressions import Expression, MissingInput, about
from hrmdoc.rulebook.moments import along


class Timeless(Exception):  # noqa: N818
    """A function weighs the curve as a whole and cannot tell when its answer came about. Not a fault."""


def onset(expression: Expression, scene: Scene, asked: Sequence[Series]) -> tuple[int | None, float | None]:
    """Step and time from which the expression has held without a break until now.

    None where a function of it cannot tell (see `Function.course`), or where the series that it asks about
    count different things, so that no step cuts them all at the same moment.

    Args:
        expression: one that holds now.
        asked: the series that it asks about.
    """
    if len({series.axis for series in asked}) > 1:
        return None, None
    longest = max(asked, key=len)
    begin = max(scene.falls(longest).fresh, default=0)
    courses = scene.once(
        ("courses", id(longest)), lambda: Courses(scene, np.maximum.accumulate(longest.steps[begin:]))
    )
    steps = courses.moments
    try:
        holds = along(expression.text, scene.facts, courses.ask, len(steps)) == 1
    except Timeless:
        return None, None
    if not len(holds) or not holds[-1]:
        return None, None
    broken = np.flatnonzero(~holds)
    first = int(broken[-1]) + 1 if len(broken) else 0
    time = float(longest.times[begin + first])
    return int(steps[first]), time if math.isfinite(time) else None


class Courses:
    """What functions answer as of each of the `moments`, steps in rising order, shape [n]."""

    def __init__(self, scene: Scene, moments: IntArray) -> None:
        self._scene = scene
        self.moments = moments
        self._questions = Questions(scene)
        self._known: dict[str, IntArray] = {}

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answers, shape [n]; one for all moments where it is about the run and not about its course.

        Raises:
            Timeless: the function cannot tell.
        """
        known = about(self._scene.facts).get(name)
        if known is not None:
            return float(known(*arguments))
        function = measures.all_functions()[name]
        if function.subject == "symptom":
            return self._of_symptoms(function, arguments)
        if function.subject in ("run", "families", "ranks"):
            return self._answer(partial(self._questions.ask, function, *arguments))
        return self._of_curve(function, *arguments)

    def _of_curve(self, function: Function, role: str, *numbers: Any) -> FloatArray:
        if any(isinstance(number, np.ndarray) for number in numbers):
            raise Timeless(function.name)  # a number that is itself an answer: it changes with each moment
        absent = math.nan if function.absent is None else function.absent
        answers = np.full(len(self.moments), float(absent))
        curve = self._questions.curve(role)
        if curve is None:
            return answers
        behind = self._behind(role, curve)
        if function.subject == "curve":
            given: Curve | FloatArray = curve
        else:
            given = self._questions.finite(curve)
            known = np.isfinite(curve.values)
            behind = np.concatenate([[0], np.cumsum(known)])[behind]
        if isinstance(given, Curve) or len(given):
            course = self._scene.once(
                ("course", function.name, role, *numbers), lambda: function.along(given, *numbers)
            )
        else:
            course = answers[:0]
        if course is None:
            raise Timeless(function.name)
        there = behind > 0
        answers[there] = course[behind[there] - 1]
        return answers

    def _behind(self, role: str, curve: Curve) -> IntArray:
        """How many points of the curve there were at each moment; the same for all that is asked of it."""
        known = self._known.get(role)
        if known is None:
            steps = np.maximum.accumulate(curve.steps)
            known = self._known[role] = np.searchsorted(steps, self.moments, side="right")
        return known

    def _of_symptoms(self, function: Function, names: Sequence[str]) -> FloatArray:
        """A symptom counts from the step on at which it began; one without a step always did."""
        groups = self._scene.groups
        findings = {one: self._scene.found(one) for name in names for one in groups.get(name, (name,))}
        begun = sorted(
            {f.first_step for f in findings.values() if f is not None and f.first_step is not None}
        )
        answers = np.empty(len(self.moments))
        borders = [0, *np.searchsorted(self.moments, begun, side="left").tolist(), len(self.moments)]
        for step, start, stop in zip([-math.inf, *begun], borders, borders[1:], strict=False):
            then = {name: _as_of(found, step) for name, found in findings.items()}
            answers[start:stop] = self._answer(partial(asked_of_symptoms, function, names, then.get, groups))
        return answers

    @staticmethod
    def _answer(ask: Any) -> float:
        try:
            return float(ask())
        except MissingInput:
            return math.nan


def _as_of(finding: Finding | None, step: float) -> Finding | None:
    if finding is None or finding.first_step is None or finding.first_step <= step:
        return finding
    return Finding("absent")
