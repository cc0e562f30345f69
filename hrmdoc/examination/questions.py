"""The functions of `hrmdoc.measures` put to a run: `last(train.loss)`, `count(eval.loss)`, `seen('loss-
zero')`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import Any

import numpy as np

from hrmdoc import measures
from hrmdoc.examination import ranks
from hrmdoc.examination.scene import Scene
from hrmdoc.examination.standings import standings
from hrmdoc.examination.tracks import goes_on
from hrmdoc.measures.function import Curve, Function, Member
from hrmdoc.measures.functions.symptoms import State
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.roles.families import allowed
from hrmdoc.rulebook import expressions

_OF_RANKS: Mapping[str, Callable[[Run, str], Sized]] = {"ranks": ranks.levels, "standings": standings}


class Questions:
    """Answers functions of roles and symptoms.

    Where one file holds several runs, one behind the other, they are asked of the last one.

    Attributes:
        asked: the series that were asked about, in that order.
        rank: the rank that stands out, where ranks were compared.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.asked: list[Series] = []
        self.rank: int | None = None

    def functions(self, names: Iterable[str] | None = None) -> Mapping[str, Callable[..., Any]]:
        """The functions of these names (by default all), and `known(lora.rank)`, which asks of facts."""
        every = measures.all_functions()
        wanted = every if names is None else names
        answers = {name: partial(self.ask, every[name]) for name in wanted if name in every}
        return answers | expressions.about(self.scene.facts)

    def ask(self, function: Function, *arguments: Any) -> Any:
        """The answer.

        Raises:
            MissingInput: what it is asked of is not there, or it cannot tell yet.
        """
        if function.subject == "symptom":
            return asked_of_symptoms(function, arguments, self.scene.found, self.scene.groups)
        roles, numbers = arguments[: function.roles], arguments[function.roles :]
        if function.subject in ("run", "families"):
            whole = self._members(function) if function.subject == "families" else self.scene.run
            series = function(whole, *roles, *numbers)
            if series is not None:
                self.asked.append(series)
            return series is not None
        if function.subject in ("ranks", "standings"):
            return self._of_ranks(function, roles[0])
        if function.absent is not None:
            curve = self.curve(roles[0])
            return function.absent if curve is None else function(curve)
        inputs = [self._given(role, function) for role in roles]
        answer = self.scene.once((function.name, *arguments), lambda: function(*inputs, *numbers))
        if answer is None:
            raise expressions.MissingInput(f"{function.lacks} of {' and '.join(roles)}")
        return answer

    def _members(self, function: Function) -> list[Member]:
        """The series of the families that it asks for, whose values those allow, as far as they are of the
        last run."""
        named = (s for s in self.scene.run.series.values() if s.nature.family in function.families)
        told = (series for series in named if allowed(series) and function.among(series))
        parts = ((series, series.values[self._last_run(series)]) for series in told)
        members = [Member(series, part[np.isfinite(part)]) for series, part in parts]
        if not any(long_enough := [len(one.values) >= function.points for one in members]):
            raise expressions.MissingInput(
                f"{function.points} points of a {' or '.join(filter(None, function.families))}"
            )
        return [one for one, enough in zip(members, long_enough, strict=True) if enough]

    def _last_run(self, series: Series) -> slice:
        fresh = self.scene.falls(series).fresh
        return slice(fresh[-1] if fresh else 0, None)

    def _of_ranks(self, function: Function, role: str) -> Any:
        known: Sized = self.scene.once(
            (function.subject, role), lambda: _OF_RANKS[function.subject](self.scene.run, role)
        )
        answer = function(known) if len(known) >= function.points else None
        if answer is None:
            raise expressions.MissingInput(f"{role} of {function.points} ranks")
        value, self.rank = answer
        return value

    def _given(self, role: str, function: Function) -> Curve | FloatArray:
        """What the function is asked of: a curve, or its finite values; enough points of it."""
        curve = self.curve(role)
        if curve is None:
            raise expressions.MissingInput(role)
        self.asked += filter(None, [self.scene.run.best(role)])
        given = curve if function.subject == "curve" else self.finite(curve)
        points = len(given.values) if isinstance(given, Curve) else len(given)
        if points < function.points:
            raise expressions.MissingInput(f"more points of {role}" if points else role)
        return given

    def finite(self, curve: Curve) -> FloatArray:
        """The finite values of the curve that `curve` gives of its role."""
        return self.scene.once(("finite", curve.role), lambda: _finite(curve.values))

    def curve(self, role: str) -> Curve | None:
        """The points of the last run in the best series of a role; None where there are none."""
        return self.scene.once(("curve", role), lambda: self._curve(role))

    def _curve(self, role: str) -> Curve | None:
        series = self.scene.run.best(role)
        if series is None:
            return None
        part = self._last_run(series)
        if not len(series.values[part]):
            return None
        fresh = self.scene.falls(series).fresh
        return Curve(
            role,
            series.steps[part],
            series.values[part],
            series.axis,
            1 + len(fresh),
            series.times[part],
            bool(fresh) and goes_on(series.values, fresh),
        )


def _finite(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    return values if known.all() else values[known]


def asked_of_symptoms(
    function: Function,
    names: Sequence[str],
    state: Callable[[str], State | None],
    groups: Mapping[str, Sequence[str]],
) -> Any:
    """What a function says of the symptoms of these ids, or of all members of these groups.

    Raises:
        MissingInput: it cannot say.
    """
    found = function(*(state(symptom) for name in names for symptom in groups.get(name, (name,))))
    if found is None:
        raise expressions.MissingInput(names[0])
    return found
