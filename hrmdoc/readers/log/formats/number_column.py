"""Curves printed as numbers alone, one to a line, under a heading that names the measure."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.lines.scan import ANYTHING
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.curves import FEWEST, MOST, Curves
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|NaN|Infinity)"
_ALONE = patterns.lazy(rf"\s{{0,8}}(?:\d{{1,4}}[.):]\s{{1,4}})?({_NUMBER}),?\s{{0,8}}\Z")
_MEASURE = patterns.lazy(
    r"(?<![a-z])((?:(?:train|training|val|valid|validation|eval|evaluation|test)[ _-]?)?"
    r"(?:loss|losses|accuracy|accuracies|acc))(?![a-z])",
    re.IGNORECASE,
)
_LONGEST_HEADING = 100


class _Column(State):
    """The numbers below the heading that named them, if one did."""

    name: str = ""
    mark: Mark = Mark(0)
    values: list[float] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether the next line may be one more number."""
        return bool(self.name)


class NumberColumn(Format):
    """Takes every line that is a number, as long as a column is open."""

    ORDER: ClassVar[int] = 0
    KINDS: ClassVar[int] = ANYTHING
    MARKS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._curves = Curves()

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """One more number of the column; any other line ends it."""
        column = cursor.of(_Column)
        if not column.name:
            return None
        found = _ALONE.match(line.text)
        if found is None:
            self._end(column)
            return None
        if len(column.values) < MOST:
            column.values.append(float(found.group(1)))
        else:
            self.log.leave_out("values of too long a column", line.mark)
        return Reading()

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that opened no column."""
        del line
        return not cursor.of(_Column).open

    def missed(self, line: Line, cursor: Cursor) -> None:
        """A line that holds no number and names one measure: others may follow below it."""
        text = line.text
        if len(text) > _LONGEST_HEADING or any(map(str.isdigit, text)):
            return
        names = {name.lower() for name in _MEASURE.findall(text)}
        if len(names) == 1:
            column = cursor.of(_Column)
            column.name, column.mark = names.pop(), line.mark

    def close(self, cursor: Cursor) -> Reading | None:
        """The log ended below a heading."""
        self._end(cursor.of(_Column))
        return None

    def finish(self) -> Reading | None:
        """The columns that are curves."""
        return Reading.of_curves(self._curves.finish(self.log))

    def _end(self, column: _Column) -> None:
        """No more numbers come below the heading. Whole ones alone are rather numbers of steps, or of
        lines."""
        if len(column.values) >= FEWEST and not all(value.is_integer() for value in column.values):
            self._curves.keep(column.name, column.values, column.mark)
        column.name, column.values = "", []
