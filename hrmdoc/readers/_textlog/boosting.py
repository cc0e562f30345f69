"""Evaluations of LightGBM, such as `[20]<TAB>train's auc: 0.91<TAB>valid's auc: 0.87`."""

from __future__ import annotations

import re

from hrmdoc.readers._textlog.lines import number
from hrmdoc.readers._textlog.sink import Mark, Sink
from hrmdoc.readers._textlog.state import RankState

_ROUND = re.compile(r"\[(\d{1,9})\]\t")
_CELL = re.compile(
    r"([\w.@-]{1,60}?)'s ([\w.@-]{1,60}): ?([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf)(?: \+ [\d.]+)?\Z", re.IGNORECASE
)


def read(state: RankState, text: str, sink: Sink, mark: Mark) -> bool:
    """Whether the line is an evaluation. One of an earlier round is the best one told again, and no new point."""
    found = _ROUND.match(text) if text.startswith("[") and "\t" in text[:12] else None
    if found is None:
        return False
    cells = [_CELL.match(cell) for cell in text[found.end() : 8192].rstrip().split("\t")]
    if not cells or None in cells:
        return False
    step = int(found.group(1))
    if state.flow.step is None or step > state.flow.step or step <= 1:
        state.flow.step = step
        values = [(f"{cell.group(1)}/{cell.group(2)}", number(cell.group(3))) for cell in cells if cell is not None]
        sink.points(values, step, "step", mark)
    return True
