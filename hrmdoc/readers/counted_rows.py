"""Rows without a header that begin with a counter: `12: 0.53`, `12, 0.53, 1.8`, `12<TAB>train<TAB>0.53`.

Their columns have no names, so they are `col2` and so on, or `value` where there is one; the name of the
file may tell more. Words are no values; one that names a part of the data (`train`, `val`) stands before the
metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.columns import Columns
from hrmdoc.readers.tables.keys import split_named, with_split
from hrmdoc.readers.tables.labels import metric_of
from hrmdoc.record.records import Damage, Record
from hrmdoc.text import patterns

NAME = "counted_rows"
TITLE = "rows without a header that begin with a counter (`12: 0.53`, `12, 0.53, 1.8`)"
WHOLE = False

_COUNTER = patterns.lazy(r"\s{0,8}[\[(]?(\d{1,12})[\])]?\s{0,8}(?:[,;:|\t]|[-=]>|\s)\s{0,8}(?=\S)")
_BETWEEN = patterns.lazy(r"\s{0,8}[,;|\t]\s{0,8}|\s{1,8}")
_NAMED = patterns.lazy(r"\s{0,8}\d{1,12} {1,8}[A-Za-z_][\w./-]{0,60} {1,8}[-+]?\d")
"""`250 val 3.28`: the word names the number, as lines of text logs do."""
_FEWEST = 4
_HEAD = 40
_MOST_CELLS = 256
_MOST_WORDS = 3
_LONGEST_WORD = 40
_NAMELESS = (
    "has no line of names; its columns are col2 and so on: say what they are, as with --role train.loss=col2"
)


class _Row(NamedTuple):
    """A line: its counter, and its cells as numbers, None where a cell is a word."""

    step: int
    cells: list[float | None]
    split: str


def sniff(path: Path, head: bytes) -> float:
    """Sure enough when the first lines are such rows, alike, and their counter rises."""
    lines = [] if b"\0" in head else _lines_of(head)
    rows = [row for row in map(_row, lines) if row is not None]
    named = sum(_NAMED.match(line) is not None for line in lines)
    if len(rows) < max(_FEWEST, 0.9 * len(lines)) or 2 * named > len(lines) or not _counts(rows):
        return 0.0
    return 0.45 if path.suffix.lower() in (".log", ".txt", ".out", ".dat") else 0.2


def _lines_of(head: bytes) -> list[str]:
    """The first lines that are whole and not empty."""
    lines = [line.decode("utf-8", "replace") for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]]
    return [line for line in lines[:_HEAD] if line.strip()]


def _counts(rows: list[_Row]) -> bool:
    """Whether the rows are alike, their counter rises, and what they hold is measured rather than counted."""
    shapes = {tuple(cell is None for cell in row.cells) for row in rows}
    rises = sum(later.step > row.step for row, later in pairwise(rows))
    fractions = sum(any(cell is not None and cell % 1 != 0 for cell in row.cells) for row in rows)
    return len(shapes) <= 2 and rises >= 0.8 * (len(rows) - 1) and 2 * fractions >= len(rows)


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = Columns(context, precision=3)
        self._unread = LeftOut(context.path, "lines that are no rows")
        self._named = metric_of(context.path)
        self._said = False

    def _block(self, block: bytes) -> Iterator[Record]:
        first = self._lines.number
        found: dict[str, list[tuple[int, int, float]]] = {}
        for at, raw in enumerate(self._lines.split(block) if block else ()):
            line = raw.decode("utf-8", "replace")
            if (row := _row(line)) is not None:
                for name, value in self._values(row):
                    found.setdefault(name, []).append((first + at, row.step, value))
                yield from self._nameless(row, first + at)
            elif line.strip():
                yield from self._unread.at(first + at, "is no row that begins with a counter")
        for name, points in found.items():
            lines, steps, values = zip(*points, strict=True)
            order = np.array(lines, np.int64)
            self._columns.add(
                name,
                order,
                np.array(values, np.float64),
                steps=np.array(steps, np.int64),
                times=np.full(len(points), np.nan),
                lines=order,
            )
        yield from self._columns.points()
        yield from self._overlong()

    def close(self) -> Iterator[Record]:
        """The last line, and how much was no row."""
        yield from super().close()
        yield from self._unread.rest()

    def _values(self, row: _Row) -> Iterator[tuple[str, float]]:
        alone = sum(cell is not None for cell in row.cells) == 1
        for at, cell in enumerate(row.cells, start=2):
            if cell is not None:
                yield with_split((self._named or "value") if alone else f"col{at}", row.split), cell

    def _nameless(self, row: _Row, line: int) -> Iterator[Damage]:
        """Says once that columns have no names."""
        if not self._said and not (self._named and len(row.cells) == 1):
            self._said = True
            yield Damage(self._context.path, line, _NAMELESS)


def _row(line: str) -> _Row | None:
    """A counter and cells, most of them numbers, or None."""
    found = _COUNTER.match(line)
    if found is None or len(line) > 1 << 14:
        return None
    cells = _BETWEEN.split(line[found.end() :].strip())
    if not 0 < len(cells) <= _MOST_CELLS:
        return None
    values = [number(cell) for cell in cells]
    words = [cell for cell, value in zip(cells, values, strict=True) if value is None]
    if len(words) > min(_MOST_WORDS, len(cells) - 1) or any(len(word) > _LONGEST_WORD for word in words):
        return None
    return _Row(int(found[1]), values, next((split for word in words if (split := split_named(word))), ""))
