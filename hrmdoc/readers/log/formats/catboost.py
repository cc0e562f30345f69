"""Evaluations of CatBoost: `9:<TAB>learn: 0.1<TAB>test: 0.2<TAB>best: 0.2 (9)<TAB>total: 41ms`."""

from __future__ import annotations

import re
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?nan(?=\W|\Z)|[-+]?inf(?:inity)?(?=\W|\Z)"
_ITERATION = patterns.lazy(
    rf"(\d{{1,9}}):(?:\s{{1,8}}learn: ({_NUMBER}))?(?:\s{{1,12}}test: ({_NUMBER}))?"
    rf"(?:\s{{1,8}}best: ({_NUMBER}) \(\d+\))?\s{{1,8}}total: ",
    re.IGNORECASE,
)


class _Best(State):
    """The best value so far, and whether more of it is better."""

    value: float | None = None
    score: bool = False


class CatBoost(Format):
    """CatBoost does not say what it measures, but which value was the best: so it is a loss or a score."""

    MARKS: ClassVar[tuple[str, ...]] = (": ",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """One iteration. A score that is dear to compute (AUC) is left out for the data that are learned
        from."""
        found = _ITERATION.match(line.text) if line.text[:1].isdigit() else None
        if found is None:
            return None
        if self.log.facts.known("run.framework") is None:
            self.log.facts.add("run.framework", "catboost", "run", line.mark)
        iteration, learn, test, best = found.groups()
        cursor.flow.step = int(iteration)
        kind = _kind(cursor.of(_Best), learn, test, best)
        cells = (f"train_{kind}", learn), (f"val_{kind}", test)
        reading = Reading()
        values = [(name, number(cell)) for name, cell in cells if cell]
        reading.add(values, cursor.flow.step, "step", line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without the time that all took."""
        del cursor
        return "total: " not in line.text.lower()


def _kind(state: _Best, learn: str | None, test: str | None, best: str | None) -> str:
    """`loss`, or `score` where more is better."""
    if best is not None and test is not None:
        before, state.value = state.value, number(best)
        rose = before is not None and state.value > before
        state.score = state.score or number(test) < state.value or rose
    return "score" if state.score or (learn is None and test is not None) else "loss"
