"""AllenNLP's `Training |  Validation` and below it a row for each measure, its values side by side."""

from __future__ import annotations

from typing import ClassVar

from hrmdoc.readers.log.formats.base import Format, Reading
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.grammar.words import split_of
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.text import patterns

_SIDES = patterns.lazy(r"\s{1,60}(\w{1,20}) {1,20}\| {1,20}(\w{1,20})\s{0,8}\Z")
_ROW = patterns.lazy(
    r"([\w/@.-]{1,60}) {0,60}\| {1,20}([-+]?\d+\.?\d*(?:e[-+]?\d+)?|nan|inf|N/A) {1,20}\| {1,20}"
    r"([-+]?\d+\.?\d*(?:e[-+]?\d+)?|nan|inf|N/A)\s{0,8}\Z"
)
_PATIENCE = 4


class _Sides(State):
    """The splits whose values stand side by side, and lines that may still be rows whatever words they
    hold."""

    MODAL: ClassVar[bool] = True

    splits: tuple[str, str] | None = None
    rows: int = 0

    @property
    def open(self) -> bool:
        """Whether the next line may be a row."""
        return self.rows > 0

    @property
    def mode(self) -> tuple[str, str] | None:
        """Below a header a line may be a row."""
        return self.splits


class SideTable(Format):
    """The header may be named again and again."""

    ORDER: ClassVar[int] = 70
    MARKS: ClassVar[tuple[str, ...]] = ("|",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The header, or a row."""
        sides = cursor.of(_Sides)
        sides.rows = max(0, sides.rows - 1)
        if "|" not in line.text:
            return None
        if found := _SIDES.match(line.text):
            left, right = map(split_of, found.groups())
            sides.splits = (left, right) if left and right else None
            sides.rows = _PATIENCE if sides.splits else 0
            return Reading() if sides.splits else None
        row = _ROW.match(line.text) if sides.splits else None
        if row is None or sides.splits is None:
            return None
        sides.rows = _PATIENCE
        reading = Reading()
        values = [
            (f"{side}_{row[1]}", number(row[at]))
            for at, side in enumerate(sides.splits, 2)
            if row[at] != "N/A"
        ]
        reading.add(values, *cursor.place(), line.mark)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One of one cell, or of more than a row has."""
        del cursor
        return line.text.count("|") not in (1, 2)
