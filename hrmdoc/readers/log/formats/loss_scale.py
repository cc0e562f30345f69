"""A step that was skipped, as DeepSpeed, apex, fairseq and MindSpore report it; the new scale stands last."""

from __future__ import annotations

import re
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.lines.scan import TROUBLE
from hrmdoc.readers.log.state.cursor import Cursor, Line
from hrmdoc.text import patterns

_NUMBER = r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_OVERFLOW = patterns.lazy(
    rf"overflow\b.{{0,200}}?loss[ _]scale(?: adjust(?:ed)?)?(?: to)?:? {_NUMBER}(?:, reducing to {_NUMBER})?",
    re.IGNORECASE,
)


class LossScale(Format):
    """The scale after an overflow."""

    ORDER: ClassVar[int] = 15
    KINDS: ClassVar[int] = TROUBLE

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The new scale, and that a step was skipped."""
        found = _OVERFLOW.search(line.text)
        if found is None:
            return None
        reading = Reading()
        values = [("loss_scale", float(found.group(2) or found.group(1))), ("skipped_step", 1.0)]
        reading.add(values, cursor.flow.step, "step", line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that reports no trouble."""
        del cursor
        return not line.kinds & TROUBLE
