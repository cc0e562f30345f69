"""Boxes with one measure a row, as Stable Baselines prints them: `|    ep_rew_mean | 22.3 |`."""

from __future__ import annotations

import math
import re
from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log.formats.base import Format, Held, Reading
from hrmdoc.readers.log.grammar.values import MOST_STEPS, number
from hrmdoc.readers.log.grammar.words import measures
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_ROW = patterns.lazy(
    r"\| {1,40}([A-Za-z_][\w/ %().\-]{0,60}?) *"
    r"\| *([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf)? *\|\s*\Z",
    re.IGNORECASE,
)
_EDGE = patterns.lazy(r"[-=+]{8,}\s*\Z")
_STEPS = (
    *("time/total_timesteps", "total_timesteps", "totalenvinteracts", "timestepssofar"),
    *("misc/total_timesteps", "totalenvsteps", "steps", "timesteps", "step", "epoch", "itr", "iteration"),
    "diagnostics/iteration",
    "t",
)
"""Rows of a box that show its place, in lower case: of Stable Baselines, Spinning Up, Baselines, garage and
others; the first one counts."""
_MOST_ROWS = 200
_MOST_KINDS = 100
_LONGEST = 600


class _Box(State):
    """The rows of a box until its lower edge, None where no box is open, and the section they stand in."""

    rows: dict[str, float] | None = None
    section: str = ""
    strange: dict[tuple[str, ...], Held | None] = field(default_factory=dict)
    """Boxes none of whose names is known: the first one of each kind; None once its like has come."""

    @property
    def open(self) -> bool:
        """Whether a box is."""
        return self.rows is not None

    def take(self, text: str) -> bool:
        """Takes a row in; False where the line is none, or the box is full."""
        row = _ROW.match(text) if _may_be_row(text) else None
        if row is None or len(self.rows or ()) >= _MOST_ROWS:
            return False
        self.add(row.group(1).strip(), row.group(2))
        return True

    def add(self, name: str, value: str | None) -> None:
        """One more row, or the name of the section of those below it."""
        rows = self.rows = self.rows or {}
        if value is None:
            self.section = name if name.endswith("/") else ""
        else:
            rows[self.section + name] = number(value)

    def again(self, box: Held) -> list[Held]:
        """The boxes to believe of names that nobody knows: this one and, where it is the second one, the
        first; none where it shows what that did, as settings do that are printed again."""
        names = tuple(name for name, _ in box.values)
        first = self.strange.setdefault(names, box) if len(self.strange) < _MOST_KINDS else None
        if first is None:
            return [box] if names in self.strange else []
        if first.values == box.values:
            return []
        self.strange[names] = None
        return [first, box]


def _may_be_row(text: str) -> bool:
    return text.startswith("|") and len(text) < _LONGEST


class BoxTable(Format):
    """A box ends with its lower edge."""

    ORDER: ClassVar[int] = 45
    MARKS: ClassVar[tuple[str, ...]] = ("|",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A row, under the section above it, or the edge."""
        box, text = cursor.of(_Box), line.text
        row = _ROW.match(text) if _may_be_row(text) else None
        if row is None:
            return self._end(cursor, box, line) if box.rows is not None else None
        if row.group(2) is None or len(box.rows or ()) < _MOST_ROWS:
            box.add(row.group(1).strip(), row.group(2))
        else:
            self.log.leave_out("rows of too long a box", line.mark)
        return Reading()

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that is no row."""
        del cursor
        return not line.text.startswith("|")

    @staticmethod
    def _end(cursor: Cursor, box: _Box, line: Line) -> Reading:
        """The rows become points where an edge ends them; the line is for others to look at all the same."""
        rows, box.rows, box.section = box.rows or {}, None, ""
        reading = Reading(left="line")
        places = {name.lower(): value for name, value in rows.items()}
        key = next((key for key in _STEPS if abs(places.get(key, math.inf)) < MOST_STEPS), None)
        if not _EDGE.match(line.text) or len(rows) < 2:
            return reading
        known = key not in (None, "t") or any(map(measures, rows))
        step = cursor.flow.step if key is None else int(places[key])
        shown = Held(list(rows.items()), step, "step", line.mark)
        for one in [shown] if known else box.again(shown):
            cursor.flow.step = one.step
            reading.add(one.values, one.step, one.axis, one.mark)
        return reading
