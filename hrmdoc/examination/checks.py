"""An expression as a condition: whether it holds, what it was asked of, and since when."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hrmdoc.errors import RuleError
from hrmdoc.examination.onset import onset
from hrmdoc.examination.questions import Questions
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.record.series import Series
from hrmdoc.rulebook import expressions


class CheckNode:
    """An expression over facts, series and other symptoms."""

    def __init__(self, text: str) -> None:
        self._expression = expressions.compile_expression(text)

    def evaluate(self, scene: Scene) -> Finding:
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
        step, time = onset(self._expression, scene, questions.asked)
        return replace(with_numbers(finding, questions.asked[0]), first_step=step, first_time=time)


def with_numbers(finding: Finding, series: Series) -> Finding:
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
