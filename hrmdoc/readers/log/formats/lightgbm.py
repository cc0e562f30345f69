r"""Evaluations of boosted trees and of linear models that are trained as they are.

LightGBM writes `[9]<TAB>train's auc: 0.91<TAB>valid's auc: 0.87`, XGBoost
`[9]<TAB>train-auc:0.91<TAB>valid-auc:0.87`. Notebooks and forums make spaces of the tabs.
"""

from __future__ import annotations

import re
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?nan(?=\W|\Z)|[-+]?inf(?:inity)?(?=\W|\Z)"
_ROUND = patterns.lazy(r"\[(\d{1,9})\][\t ]{1,8}(?=[A-Za-z])")
_CELL = patterns.lazy(
    rf"(?:([\w.@-]{{1,60}}?)'s ([\w.@-]{{1,60}}): ?|([A-Za-z][\w.]{{0,40}}-[\w.@:-]{{1,60}}):)({_NUMBER})"
    r"(?:\(\w{1,6}\))?(?: ?\+ ?[\d.]+)?\Z",
    re.IGNORECASE,
)
_CELLS = patterns.lazy(r"\t| {2,}| (?=[\w.@-]{1,60}'s |[A-Za-z][\w.]{0,40}-[\w.@:-]{1,60}:[-+.\dni])")


_BEST = patterns.lazy(r"(?i)(?:.{0,80}\W)?best iteration(?: is)?:\s{0,8}\Z")


class _Best(State):
    """The line that announces the best round."""

    line: int = -2


class LightGBM(Format):
    """One line a round of boosting, with the values of all data sets."""

    MARKS: ClassVar[tuple[str, ...]] = ("[",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """An evaluation. One of an earlier round is the best one shown again, and no new point."""
        found = _ROUND.match(line.text) if line.text.startswith("[") else None
        if found is None:
            return None
        cells = _CELLS.split(line.text[found.end() :].rstrip())
        values = []
        for cell in map(_CELL.match, cells):
            if cell is None:
                return None
            values.append((cell[3] or f"{cell[1]}/{cell[2]}", number(cell[4])))
        if self.log.facts.known("run.framework") is None:
            library = "lightgbm" if "/" in values[0][0] else "xgboost"
            self.log.facts.add("run.framework", library, "run", line.mark)
        reading, flow, step = Reading(), cursor.flow, int(found.group(1))
        if cursor.of(_Best).line == line.mark.line - 1:
            self.log.facts.add("run.best_step", step, "run", line.mark)
        elif flow.step is None or step > flow.step or step <= 1:
            flow.step = step
            reading.add(values, step, "step", line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that begins with no round, and announces none."""
        del cursor
        if line.text.startswith("["):
            return not line.text[1:].lstrip("0123456789").startswith(("]\t", "] "))
        return not _BEST.match(line.text)

    def missed(self, line: Line, cursor: Cursor) -> None:
        """`Stopping. Best iteration:` announces the best round, which is shown again below."""
        if _BEST.match(line.text):
            cursor.of(_Best).line = line.mark.line
