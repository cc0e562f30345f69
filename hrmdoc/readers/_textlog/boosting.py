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
_ITERATION = late.pattern(rf"(\d{{1,9}}):\tlearn: ({_NUMBER})(?:\ttest: ({_NUMBER}))?(?:\t|\Z)")


def read(state: RankState, text: str, sink: Sink, mark: Mark) -> bool:
    """Whether the line is an evaluation. One of an earlier round is the best one told again, and no new point."""
    if text[:1].isdigit() and (iteration := _ITERATION.match(text)):
        state.flow.step = int(iteration.group(1))
        cells = [("train_loss", iteration.group(2)), ("val_loss", iteration.group(3))]
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
