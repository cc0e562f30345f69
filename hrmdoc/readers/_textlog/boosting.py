"""Evaluations of LightGBM, `[9]<TAB>train's auc: 0.91<TAB>valid's auc: 0.87`; of CatBoost, `9:<TAB>learn: 0.1<TAB>test: 0.2`."""

from __future__ import annotations

import re

from hrmdoc import late
from hrmdoc.readers._textlog.lines import number
from hrmdoc.readers._textlog.sink import Mark, Sink
from hrmdoc.readers._textlog.state import RankState

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf"
_ROUND = late.pattern(r"\[(\d{1,9})\]\t")
_CELL = late.pattern(rf"([\w.@-]{{1,60}}?)'s ([\w.@-]{{1,60}}): ?({_NUMBER})(?: \+ [\d.]+)?\Z", re.IGNORECASE)
_ITERATION = late.pattern(
    rf"(\d{{1,9}}):(?:\tlearn: ({_NUMBER}))?(?:\ttest: ({_NUMBER}))?(?:\tbest: ({_NUMBER}) \(\d+\))?\ttotal: "
)


def read(state: RankState, text: str, sink: Sink, mark: Mark) -> bool:
    """Whether the line is an evaluation. One of an earlier round is the best one told again, and no new point."""
    if text[:1].isdigit() and (iteration := _ITERATION.match(text)):
        state.flow.step = int(iteration.group(1))
        kind = _kind(state, *iteration.groups()[1:])
        cells = [(f"train_{kind}", iteration.group(2)), (f"val_{kind}", iteration.group(3))]
        sink.points([(name, number(cell)) for name, cell in cells if cell], state.flow.step, "step", mark)
        return True
    found = _ROUND.match(text) if text.startswith("[") and "\t" in text[:12] else None
    if found is None:
        return False
    told = [_CELL.match(cell) for cell in text[found.end() : 8192].rstrip().split("\t")]
    if not told or None in told:
        return False
    step = int(found.group(1))
    if state.flow.step is None or step > state.flow.step or step <= 1:
        state.flow.step = step
        values = [(f"{cell.group(1)}/{cell.group(2)}", number(cell.group(3))) for cell in told if cell is not None]
        sink.points(values, step, "step", mark)
    return True


def _kind(state: RankState, learn: str | None, test: str | None, best: str | None) -> str:
    """`loss`, or `score` where more is better: CatBoost does not say what it measures, but which value was the best.

    A score that is dear to compute (AUC) is left out for the data that are learned from.
    """
    if best is not None:
        before, state.best = state.best, number(best)
        state.score = state.score or (before is not None and state.best > before)
    return "score" if state.score or (learn is None and test is not None) else "loss"
