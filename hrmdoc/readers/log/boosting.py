"""Evaluations of boosted trees and of linear models that are trained as they are.

LightGBM writes `[9]<TAB>train's auc: 0.91<TAB>valid's auc: 0.87`, XGBoost
`[9]<TAB>train-auc:0.91<TAB>valid-auc:0.87`, CatBoost `9:<TAB>learn: 0.1<TAB>test: 0.2<TAB>best: 0.2 (9)`.
Notebooks and forums make spaces of the tabs.
"""

from __future__ import annotations

import re

from hrmdoc.readers.log.lines import number
from hrmdoc.readers.log.sink import Mark, Sink
from hrmdoc.readers.log.state import RankState
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?nan(?=\W|\Z)|[-+]?inf(?:inity)?(?=\W|\Z)"
_ROUND = patterns.lazy(r"\[(\d{1,9})\][\t ]{1,8}(?=[A-Za-z])")
_CELL = patterns.lazy(
    rf"(?:([\w.@-]{{1,60}}?)'s ([\w.@-]{{1,60}}): ?|([A-Za-z][\w.]{{0,40}}-[\w.@:-]{{1,60}}):)({_NUMBER})"
    r"(?:\(\w{1,6}\))?(?: ?\+ ?[\d.]+)?\Z",
    re.IGNORECASE,
)
_CELLS = patterns.lazy(r"\t| {2,}| (?=[\w.@-]{1,60}'s |[A-Za-z][\w.]{0,40}-[\w.@:-]{1,60}:[-+.\dni])")
_ITERATION = patterns.lazy(
    rf"(\d{{1,9}}):(?:\s{{1,8}}learn: ({_NUMBER}))?(?:\s{{1,12}}test: ({_NUMBER}))?"
    rf"(?:\s{{1,8}}best: ({_NUMBER}) \(\d+\))?\s{{1,8}}total: ",
    re.IGNORECASE,
)


def read(state: RankState, text: str, sink: Sink, mark: Mark) -> bool:
    """Whether the line is an evaluation. One of an earlier round is the best one told again, and no new
    point."""
    if text[:1].isdigit() and (iteration := _ITERATION.match(text)):
        state.flow.step = int(iteration.group(1))
        kind = _kind(state, *iteration.groups()[1:])
        cells = [(f"train_{kind}", iteration.group(2)), (f"val_{kind}", iteration.group(3))]
        sink.points([(name, number(cell)) for name, cell in cells if cell], state.flow.step, "step", mark)
        return True
    found = _ROUND.match(text) if text.startswith("[") else None
    if found is None:
        return False
    told = [_CELL.match(cell) for cell in _CELLS.split(text[found.end() : 8192].rstrip())]
    if not told or None in told:
        return False
    step = int(found.group(1))
    if state.flow.step is None or step > state.flow.step or step <= 1:
        state.flow.step = step
        values = [(cell[3] or f"{cell[1]}/{cell[2]}", number(cell[4])) for cell in told if cell is not None]
        sink.points(values, step, "step", mark)
    return True


def _kind(state: RankState, learn: str | None, test: str | None, best: str | None) -> str:
    """`loss`, or `score` where more is better: CatBoost does not say what it measures, but which value was
    the best.

    A score that is dear to compute (AUC) is left out for the data that are learned from.
    """
    if best is not None and test is not None:
        before, state.best = state.best, number(best)
        state.score = state.score or number(test) < state.best or (before is not None and state.best > before)
    return "score" if state.score or (learn is None and test is not None) else "loss"
