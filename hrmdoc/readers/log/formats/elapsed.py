"""Lines of PyTorch's tutorials on sequences and their many copies, in which the loss bears no name:
`1m 47s (- 25m 5s) (5000 6%) 2.8512`, and `5000 5% (0m 7s) 2.7178 Satoshi / Chinese`."""

from __future__ import annotations

from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.state.cursor import Cursor, Line
from hrmdoc.text import patterns

_SPAN = r"(?:\d{1,4}h )?\d{1,6}m \d{1,2}(?:\.\d{1,6})?s"
_LOSS = r"(\d{1,12}\.\d{1,12}(?:e[-+]?\d{1,3})?|nan|inf)"
_SPAN_FIRST = patterns.lazy(
    rf"\[?{_SPAN} (?:\(- {_SPAN}\) )?\((\d{{1,12}}) \d{{1,3}}(?:\.\d{{1,4}})?%\) {_LOSS}\]?\s{{0,8}}\Z"
)
_STEP_FIRST = patterns.lazy(rf"(\d{{1,12}}) \d{{1,3}}% \({_SPAN}\) {_LOSS}(?= \S)")


class Elapsed(Format):
    """Each line tells how much of how many steps is done."""

    ORDER: ClassVar[int] = 55

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """One of both forms."""
        found = _SPAN_FIRST.match(line.text) or _STEP_FIRST.match(line.text)
        if found is None:
            return None
        reading = Reading()
        step, axis = cursor.flow.place(Position(step=int(found[1]), restarts=False))
        reading.add([("loss", number(found[2]))], step, axis, line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without a share or without minutes."""
        del cursor
        return "%" not in line.text or "m " not in line.text
