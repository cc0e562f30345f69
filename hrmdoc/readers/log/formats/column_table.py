"""Columns of values under a header that names them."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from hrmdoc.readers.log.formats.base import Format, Reading, Values
from hrmdoc.readers.log.grammar.columns import LONGEST, columns_of, columns_of_row, framed, of_sides
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.grammar.words import counter_kind, measures, split_of
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_BORDERS = str.maketrans("┃│║", "|||")
_CELL = patterns.lazy(r"(?i)([-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf)([GMK]?B?|%)\Z")
_SPAN = patterns.lazy(r"\d+(?:\.\d+)?(?:ms|s|m|min|h)\Z")
_OF = patterns.lazy(r"(\d+)/(\d+)\Z")
_REDRAWN = patterns.lazy(r"█?\Z|Epoch \d{1,6}/\d{1,6} : *(?:\||\Z)")
"""fastai draws `Epoch 1/5 : |████----| 50.00% [...]` between its rows, and blanks over it."""
_METER = patterns.lazy(r"\s{0,8}\[[ =>#.*\d%-]{3,60}\]\s+")
"""xLearn draws how far it is in front of each row, `[   10%      ]`, and of the header."""
_SPLIT = patterns.lazy(r"(?i)(?:train|training|val|valid|validation|eval|test|dev)\Z")
"""What the rows of two sets begin with that stand below each other, also outside of frames."""
_PATIENCE = 4


class _Table(State):
    """The table that lines may be rows of.

    Attributes:
        columns: their names.
        upper: the cells of a framed line that may be the first one of a header.
        rows: lines that may still be rows whatever words they hold.
        title: the measure that a line named, and where that stood: it is that of the sides below it.
    """

    MODAL: ClassVar[bool] = True

    columns: tuple[str, ...] = ()
    upper: list[str] = field(default_factory=list)
    rows: int = 0
    title: tuple[str, int] = ("", 0)

    @property
    def open(self) -> bool:
        """Whether the next line may be a row."""
        return self.rows > 0

    @property
    def mode(self) -> tuple[str, ...]:
        """Below a header a line may be a row."""
        return self.columns


class _Row(Struct):
    """What the cells of one row give."""

    values: Values = field(default_factory=list)
    label: str = ""
    position: Position = Position()


class ColumnTable(Format):
    """Rows, which are looked for before lines of names and values."""

    ORDER: ClassVar[int] = 60

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A row under the columns named last."""
        self._nameless(cursor, line.text)
        return self._row(line.text, line.mark, cursor)

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that is no row below the columns named last, nor of YOLO's where none were named."""
        return "G " not in line.text and self.never_in(line.text, cursor)

    def under_bar(self, desc: str, full: bool, line: Line, cursor: Cursor) -> Reading | None:
        """A header or a row that stands before a progress bar, as Ultralytics draws it; a row counts when the
        bar is full."""
        self._nameless(cursor, desc)
        if _header(desc, cursor):
            return Reading()
        return self._row(desc, line.mark, cursor, full)

    @staticmethod
    def never_in(desc: str, cursor: Cursor) -> bool:
        """Whether a description, which was no header, is no row below the columns named last either, nor one
        of other digits, however full its bar is."""
        columns = cursor.of(_Table).columns
        return not columns or ("|" not in desc and _row_of(desc, columns, cursor) is None)

    @staticmethod
    def _nameless(cursor: Cursor, text: str) -> None:
        """A row of YOLO's under columns that the log does not show names them."""
        if text[:1].isspace() or text[:1].isdigit():
            table = cursor.of(_Table)
            table.columns = table.columns or columns_of_row(text) or ()

    @staticmethod
    def _row(text: str, mark: Mark, cursor: Cursor, full: bool = True) -> Reading | None:
        """A row; a row of another trial than the first gives nothing."""
        table = cursor.of(_Table)
        columns = table.columns
        if not columns or _REDRAWN.match(text.rstrip()):
            return None
        begun, table.rows = table.rows > 0, max(0, table.rows - 1)
        if len(text) > LONGEST and begun:
            cursor.log.leave_out(f"rows of more than {LONGEST:,} characters", mark, data=True)
        if len(text) > LONGEST or not full:
            return None
        row = _row_of(text, columns, cursor)
        if row is None:
            return None
        table.rows = _PATIENCE
        reading, values = Reading(), row.values
        if split := split_of(row.label) if row.label else None:
            values = [(f"{split}_{name}", value) for name, value in values]
        elif row.label:
            cursor.trial = cursor.trial or row.label
            if row.label != cursor.trial:
                return reading
        if row.position.silent:
            reading.add(values, None, "index", mark)
        else:
            step, axis = cursor.flow.place(row.position)
            reading.add(values, step, axis, mark)
        return reading


class TableHeader(Format):
    """The line above the rows."""

    ORDER: ClassVar[int] = 90

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """Names of columns, or what is measured in them."""
        table, text = cursor.of(_Table), line.text.strip()
        if text.endswith(":") and len(text.split()) <= 2 and measures(text):
            table.title = text.rstrip(" :"), line.mark.line
            return None
        if not _header(line.text, cursor):
            return None
        title, at = table.title
        if title and at == line.mark.line - 1 and of_sides(table.columns):
            table.columns = (table.columns[0], *(f"{side} {title}" for side in table.columns[1:]))
        return Reading()

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that neither frames nor a meter begin: of others, no number is part of a name."""
        del cursor
        return line.text.lstrip()[:1] not in ("|", "┃", "│", "║", "[")


def _header(text: str, cursor: Cursor) -> bool:
    """Whether the line names columns."""
    text = _unmetered(text.translate(_BORDERS)).strip()
    if len(text) > LONGEST:
        return False
    table, joined = cursor.of(_Table), []
    if text.startswith("|"):
        lower, upper = framed(text), table.upper
        table.upper = [cell.strip() for cell in text.strip("|").split("|")]
        if lower and len(lower) == len(upper):
            joined = [f"{above} {cell}".strip() for above, cell in zip(upper, lower, strict=True)]
    columns = columns_of(text, joined)
    if columns:
        table.columns, table.rows = columns, _PATIENCE
    return bool(columns)


def _row_of(text: str, columns: tuple[str, ...], cursor: Cursor) -> _Row | None:
    """The cells of a line as a row under these columns; None where one of them does not fit."""
    cells, in_frames = _cells(_unmetered(text.translate(_BORDERS)).replace("No log", "-"), len(columns))
    if len(cells) != len(columns):
        return None
    row = _Row()
    if not all(_take(row, name, cell, in_frames, cursor) for name, cell in zip(columns, cells, strict=True)):
        return None
    unplaced = row.position.silent and any(map(counter_kind, columns))
    return row if row.values and not unplaced else None


def _take(row: _Row, name: str, cell: str, in_frames: bool, cursor: Cursor) -> bool:
    """Takes one cell in; says whether the line may be a row."""
    if name == "Class":
        row.position = Position(cursor.flow.epoch)
        return cell == "all"
    kind, of, found = counter_kind(name), _OF.match(cell), _CELL.match(cell)
    if kind is not None and (of or (found and cell.isdigit())):
        whole, position = int(of.group(1)) if of else int(cell), row.position
        row.position = Position(whole, position.step) if kind == "epoch" else Position(position.epoch, whole)
    elif found is not None:
        row.values.append((name, number(found.group(1))))
    elif not kind and _labels(name, cell, in_frames):
        row.label = row.label or cell
    else:
        return cell == "-" or ":" in cell or _SPAN.match(cell) is not None
    return True


def _labels(name: str, cell: str, in_frames: bool) -> bool:
    """Whether a cell says what its row is of."""
    return not measures(name) and (in_frames or _SPLIT.match(cell) is not None)


def _unmetered(text: str) -> str:
    """A row without the meter in front of it."""
    meter = _METER.match(text) if "[" in text[:10] else None
    return text if meter is None else text[meter.end() :]


def _cells(text: str, count: int) -> tuple[list[str], bool]:
    """The cells of a row, and whether they stand in frames: then they may hold words, or nothing."""
    if text.count(",") == count - 1 and "|" not in text:
        return [cell.strip() for cell in text.split(",")], False
    if text.startswith("&"):  # a row for LaTeX, below a header for people
        return [cell.strip() for cell in text.rstrip("\\ ").strip("& ").split("&")], False
    if text.count("|") >= count:
        cells = [cell.strip() or "-" for cell in text.strip().strip("|").split("|")]
        if len(cells) >= count and not any(map(_CELL.match, cells[count:])):
            return cells[:count], True  # clocks and marks may stand behind the last column
    return text.replace("|", " ").split(), False
