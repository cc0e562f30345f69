"""An expression as a condition: whether it holds, what it was asked of, and since when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from hrmdoc import measures
from hrmdoc.errors import RuleError
from hrmdoc.examination.onset import onset
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.examination.watching import UNITS
from hrmdoc.record.series import Series
from hrmdoc.rulebook import expressions


class CheckNode:
    """An expression over facts, series and other symptoms.

    Args:
        text: the expression.
        about: roles of which the rule speaks; its sentence is filled in with the first series of theirs that
            the expression asked of, else with the first of any.
    """

    def __init__(self, text: str, about: Sequence[str] = ()) -> None:
        self._about = tuple(about)
        self._text = text
        self._asked: tuple[object, ...] = ()
        self._finding = Finding("not_evaluated")

    @cached_property
    def _expression(self) -> expressions.Expression:
        return expressions.compile_expression(self._text)

    @cached_property
    def _of_the_run(self) -> bool:
        """Whether it asks for more than some series and facts."""
        every = measures.all_functions()
        subjects = {function.subject for name in self._expression.calls if (function := every.get(name))}
        return not subjects.isdisjoint(("run", "families", "ranks", "standings"))

    def evaluate(self, scene: Scene) -> Finding:
        asked = self._inputs(scene)
        if asked != self._asked:
            self._asked, self._finding = asked, self._answer(scene)
        return self._finding

    def _inputs(self, scene: Scene) -> tuple[object, ...]:
        """All that the answer depends on: while it is the same, so is the answer."""
        expression, facts, run = self._expression, scene.facts, scene.run
        inputs: list[object] = [scene.closed, run.version if self._of_the_run else len(run.events)]
        for name in expression.names:
            inputs += facts.get(name), scene.places.get(name)
        for name in expression.subjects:
            series = run.best(name)
            if series is None:
                inputs.append(facts.get(name))
            else:
                inputs += id(series), len(series), scene.falls(series).fresh
        for name in expression.symptoms:
            inputs += map(scene.found, scene.groups.get(name, (name,)))
        return tuple(inputs)

    def _answer(self, scene: Scene) -> Finding:
        names = scene.facts
        questions = Questions(scene)
        try:
            holds = self._expression(names, questions.functions(self._expression.calls))
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
        return self._dated(finding, scene, questions.asked)

    def _dated(self, finding: Finding, scene: Scene, asked: Sequence[Series]) -> Finding:
        """`finding` with its numbers, and since when it holds."""
        step, time = onset(self._expression, scene, asked)
        about = next((one for one in asked if one.role.role in self._about), asked[0])
        found = with_numbers(finding, about, max(scene.falls(about).fresh, default=0))
        if step is not None and asked[0].axis in UNITS:  # then all that was asked counts the same
            found.values["unit"] = UNITS[asked[0].axis]
        return replace(found, first_step=step, first_time=time)


def with_numbers(finding: Finding, series: Series, begin: int) -> Finding:
    """`finding` with what a sentence about the last run in `series` needs, which begins at a point of it."""
    values = series.values[begin:]
    finite = values[np.isfinite(values)]
    numbers = {
        "first": float(values[0]),
        "last": float(values[-1]),
        "now": float(values[-1]),
        "best": float(finite.min()) if len(finite) else math.nan,
        "highest": float(finite.max()) if len(finite) else math.nan,
        "points": len(values),
    }
    if not len(finite):
        every = dict.fromkeys(("duration", "held", "in_all"), len(values))
        numbers |= {"value": float(values[-1]), **every}
    role, metric = series.role.role or "", series.key.metric
    return replace(finding, role=role, metric=metric, values={**numbers, **finding.values})
