"""Since when an expression holds, by the courses of what it asks for; no prefix of a run is asked again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from hrmdoc import measures
from hrmdoc.examination.pairing import at_the_same, rising
from hrmdoc.examination.questions import Questions, asked_of_symptoms
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.measures.base import SLAB
from hrmdoc.measures.function import Curve, Function
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import Series
from hrmdoc.rulebook.expressions import Expression, MissingInput, about
from hrmdoc.rulebook.moments import along


class Timeless(Exception):  # noqa: N818
    """A function weighs the curve as a whole and cannot tell when its answer came about. Not a fault."""


def onset(expression: Expression, scene: Scene, asked: Sequence[Series]) -> tuple[int | None, float | None]:
    """Step and time from which the expression has held without a break until now.

    None where a function of it cannot tell (see `Function.course`), where the series that it asks about
    count different things, so that no step cuts them all at the same moment, or where what is known of the
    run as a whole decides from its first point on.

    Args:
        expression: one that holds now.
        asked: the series that it asks about.
    """
    if len({series.axis for series in asked}) > 1:
        return None, None
    longest = max(asked, key=len)
    begin = max(scene.falls(longest).fresh, default=0)
    courses = scene.once(("courses", id(longest)), lambda: Courses(scene, rising(longest.steps[begin:])))
    courses.whole = False
    try:
        first = _since(expression.text, scene, courses)
    except Timeless:
        return None, None
    finally:
        courses.forget()
    if first is None or (first == 0 and courses.whole):
        return None, None
    time = float(longest.times[begin + first])
    return int(courses.moments[first]), time if math.isfinite(time) else None


def _since(text: str, scene: Scene, courses: Courses) -> int | None:
    """The index of the moment from which an expression holds until the last one; None where it does not hold
    there. Asked backwards, a piece at a time."""
    count = len(courses.moments)
    for stop in range(count, 0, -SLAB):
        start = max(0, stop - SLAB)
        holds = along(text, scene.facts, partial(courses.ask, slice(start, stop)), stop - start) == 1
        broken = np.flatnonzero(~holds)
        if len(broken):
            first = start + int(broken[-1]) + 1
            return first if first < count else None
    return 0 if count else None


class Courses:
    """What functions answer as of each of the `moments`, steps in rising order, shape [n]."""

    def __init__(self, scene: Scene, moments: IntArray) -> None:
        self._scene = scene
        self.moments = moments
        self.whole = False
        """Whether something was asked of the run as a whole, which has no moments."""
        self._questions = Questions(scene)
        self._behind: dict[str, Behind | None] = {}
        self._answers: dict[tuple[Any, ...], float] = {}
        self._courses: dict[tuple[Any, ...], FloatArray | None] = {}

    def ask(self, span: slice, name: str, *arguments: Any) -> Any:
        """The answers as of the moments of `span`, shape [m]; one for all of them where it is about the run
        and not about its course.

        Raises:
            Timeless: the function cannot tell.
        """
        known = about(self._scene.facts).get(name)
        if known is not None:
            return float(known(*arguments))
        function = measures.all_functions()[name]
        if function.subject == "symptom":
            return self._of_symptoms(self.moments[span], function, arguments)
        if function.subject in ("run", "families", "ranks", "standings"):
            arguments = tuple(map(_single, arguments))
            self.whole |= function.subject not in ("ranks", "standings")
            arguments = tuple(_known(one) for one in arguments)
            if (name, *arguments) not in self._answers:
                answer = self._answer(partial(self._questions.ask, function, *arguments))
                self._answers[name, *arguments] = answer
            return self._answers[name, *arguments]
        return self._of_curve(span, function, *arguments)

    def forget(self) -> None:
        """Lets go the courses that were asked for, each as long as a curve."""
        self._courses.clear()

    def _of_curve(self, span: slice, function: Function, role: str, *numbers: Any) -> FloatArray:
        if any(isinstance(number, np.ndarray) for number in numbers):
            raise Timeless(function.name)  # a number that is itself an answer: it changes with each moment
        absent = math.nan if function.absent is None else function.absent
        answers = np.full(len(self.moments[span]), float(absent))
        curve = self._questions.curve(role)
        if curve is None:
            return answers
        given = curve if function.subject == "curve" else self._questions.finite(curve)
        if not isinstance(given, Curve) and not len(given):
            return answers
        asked = (function.name, role, *numbers)
        if asked not in self._courses:
            self._courses[asked] = function.along(given, *numbers)
        if (course := self._courses[asked]) is None:
            raise Timeless(function.name)
        if (behind := self._points_behind(role, curve)) is None:
            return course[span]
        points = behind.at(self.moments[span], finite=function.subject != "curve")
        there = points > 0
        answers[there] = course[points[there] - 1]
        return answers

    def _points_behind(self, role: str, curve: Curve) -> Behind | None:
        """How many points of the curve there were at each moment; None where each brought one more value, a
        finite one."""
        if role not in self._behind:
            all_finite = len(self._questions.finite(curve)) == len(curve.values)
            each = all_finite and at_the_same(curve.steps, self.moments)
            self._behind[role] = None if each else Behind(curve)
        return self._behind[role]

    def _of_symptoms(self, moments: IntArray, function: Function, names: Sequence[str]) -> FloatArray:
        """A symptom counts from the step on at which it began; one without a step always did."""
        groups = self._scene.groups
        findings = {one: self._scene.found(one) for name in names for one in groups.get(name, (name,))}
        begun = sorted(
            {f.first_step for f in findings.values() if f is not None and f.first_step is not None}
        )
        answers = np.empty(len(moments))
        borders = [0, *np.searchsorted(moments, begun, side="left").tolist(), len(moments)]
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


def _single(argument: Any) -> Any:
    """An argument of a question about the whole run: a fact that was computed with is one number."""
    return float(argument.flat[-1]) if isinstance(argument, np.ndarray) and argument.size else argument


class Behind:
    """How many points of a curve, and how many finite ones, there were at some moment."""

    def __init__(self, curve: Curve) -> None:
        self._steps = rising(curve.steps)
        known = np.isfinite(curve.values)
        self._finite = None if known.all() else np.concatenate([[0], np.cumsum(known)])

    def at(self, moments: IntArray, *, finite: bool) -> IntArray:
        """How many, shape [m] for [m] moments."""
        points = np.searchsorted(self._steps, moments, side="right")
        return self._finite[points] if finite and self._finite is not None else points


def _as_of(finding: Finding | None, step: float) -> Finding | None:
    if finding is None or finding.first_step is None or finding.first_step <= step:
        return finding
    return Finding("absent")


def _known(argument: Any) -> Any:
    """An argument as it is known now: what is computed of facts is a number at every moment."""
    return float(argument.flat[-1]) if isinstance(argument, np.ndarray) and argument.size else argument
