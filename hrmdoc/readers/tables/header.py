"""The header of a table in CSV or TSV: the names of its columns, and how the rows below them are read."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.tables.blanks import Blanks
from hrmdoc.readers.tables.cells import SECONDS, number, unix_time
from hrmdoc.readers.tables.decimals import Decimals, comma_in, with_point
from hrmdoc.readers.tables.grid import Grid, column, plain_grid
from hrmdoc.readers.tables.keys import EPOCH_KEYS, STEP_KEYS, TIME_KEYS, Places, places, with_split
from hrmdoc.readers.tables.labels import RUN_KEYS, Labels, sums
from hrmdoc.readers.tables.vanished import Vanished
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.text import patterns

_DELIMITERS = (",", "\t", ";", "|")
_RUN_PREFIX = patterns.lazy(r"^(?P<run>.+?) - (?P<metric>[^-].*)$")
_SPREAD = patterns.lazy(r"__(?:MIN|MAX)$")
_WORD = patterns.lazy(r"[A-Za-z]")
_NAN = frozenset({"nan", "nan.0"})


def delimiter_of(line: str) -> str:
    """What parts the names of a header or, in a line of numbers, leaves nothing but numbers."""

    def parted(sign: str) -> tuple[bool, int, int]:
        cells = cells_of(line, sign)
        return len(cells) > 1 and is_row(cells), len(cells), -_DELIMITERS.index(sign)

    best = max(_DELIMITERS, key=parted)
    spaced = cells_of(line.strip(), " ")  # names may hold spaces, numbers do not
    return " " if not parted(best)[0] and len(spaced) > 1 and is_row(spaced) else best


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a line; none where its quotes are no CSV."""
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return []


def is_header(names: list[str]) -> bool:
    """Names, not numbers: at least half of the cells begin like a word."""
    named = [name for name in names if name.strip()]
    return bool(named) and sum(bool(_WORD.search(name)) and number(name) is None for name in named) * 2 > len(
        named
    )


def is_row(cells: list[str]) -> bool:
    """Numbers and nothing else, as below a header."""
    return bool(cells) and all(map(is_number, cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a point or a comma before its decimals."""
    return number(cell) is not None or bool(comma_in(cell))


def _says_nan(cell: str) -> bool:
    """Whether a cell that is no finite number is NaN, alone, printed as an object, or in an array."""
    text = cell.strip().lower().lstrip("+-")
    return text in _NAN or ("nan" in text and text.endswith(("]", ")")))


Read = tuple[Grid, FloatArray, NDArray[np.int64]]


class RowPlaces(NamedTuple):
    """Where rows stand, arrays of shape [n]."""

    order: IntArray
    steps: IntArray
    axes: IntArray
    times: FloatArray
    lines: IntArray

    def only(self, n: slice | IntArray) -> RowPlaces:
        """Where some of the rows stand."""
        return RowPlaces(self.order[n], self.steps[n], self.axes[n], self.times[n], self.lines[n])


class Header:
    """The names of the columns, and how rows below them are read."""

    def __init__(self, names: list[str], delimiter: str, split: str, decimals: Decimals) -> None:
        self.names = [name.strip() for name in names]
        self.start = names[0].encode() if names and _WORD.search(names[0]) else b""
        self.delimiter = delimiter
        self.split = split
        self.decimals = decimals
        self.damages: list[tuple[int, str]] = []
        self.nans: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)
        self.place = self._places()
        self.labels = Labels(self.names)
        self.sums = sums(self.names)
        self.vanished = Vanished(self.names, self.place)
        counted = self.place.step is not None or self.place.epoch is not None
        self._run = [at for at, name in enumerate(self.names) if counted and name.lower() in RUN_KEYS]
        self._cells: list[tuple[str, ...]] = []
        self.gaps: dict[int, RowPlaces] = {}
        self.metrics = list(self._metrics())
        self.blanks = Blanks(self.names, self._alone())
        self.waiting: dict[int, list[RowPlaces]] = {}

    def _alone(self) -> list[int]:
        """The columns that hold one metric of one run each, but those that count."""
        if self._run or self.labels.used or any(source for _, _, source in self.metrics):
            return []
        return [at for at, _, _ in self.metrics if self.names[at] not in self.place]

    def at(self, name: str | None) -> int:
        """The column of a name."""
        return self.names.index(name or "")

    def _places(self) -> Places:
        found = places(self.names)
        lowered = {name.lower(): name for name in reversed(self.names)}
        step = found.step or next((lowered[key] for key in STEP_KEYS if key in lowered), None)
        if step is None and found.epoch is None and self.names[0] in ("", "Unnamed: 0", "index"):
            step = self.names[0]
        epoch = found.epoch or next((lowered[key] for key in EPOCH_KEYS if key in lowered), None)
        return Places(
            step, epoch, found.time or next((lowered[key] for key in TIME_KEYS if key in lowered), None)
        )

    def runs(self, grid: Grid) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """The runs that the rows last read belong to, each with its own of them, shape [n]; one without a
        name for all."""
        if not self._run:
            yield "", np.ones(len(grid), np.bool_)
            return
        cells = self._cells or [tuple(f"{value:g}" for value in row) for row in grid[:, self._run].tolist()]
        for run in dict.fromkeys(cells):
            yield " ".join(run), np.array([cell == run for cell in cells])

    def _metrics(self) -> Iterator[tuple[int, str, str]]:
        """Column, metric and run of every column that holds a metric; exports name the run in front of the
        metric. A name that stands again is numbered, as pandas does."""
        seen: Counter[str] = Counter()
        for at, name in enumerate(self.names):
            if not name or name == self.place.step or at in self._run or _SPREAD.search(name):
                continue
            again = f".{seen[name]}" if seen[name] else ""
            seen[name] += 1
            found = _RUN_PREFIX.match(name)
            if found:
                yield at, with_split(found["metric"], self.split) + again, found["run"]
            else:
                yield at, with_split(name, self.split) + again, ""

    def plain(self, block: bytes, first: int) -> Read | None:
        """As `grid`, of whole lines of plain numbers and empty cells; None when there is anything else."""
        grid = plain_grid(block, len(self.names)) if self.delimiter == "," else None
        if grid is None:
            return None
        if self.decimals.comma is None and b"." in block:
            self.decimals.comma = False
        self.nans = np.zeros(grid.shape, np.bool_)
        self.labels.see(())
        self._cells = []
        return grid, self._clock(grid), np.arange(first, first + len(grid))

    def grid(self, lines: list[bytes], first: int) -> Read:
        """Numbers of shape [n, columns], NaN where a cell is missing; Unix seconds [n]; line numbers [n].

        `nans` says afterwards where a cell said NaN.
        """
        width = len(self.names)
        plain = self.plain(b"\n".join((*lines, b"")), first)
        if plain is not None:
            return plain
        rows, numbers = self._written(lines, first)
        self._cells = [tuple(row[at].strip() for at in self._run) for row in rows] if self._run else []
        if not rows:
            return np.zeros((0, width)), np.zeros(0), np.zeros(0, np.int64)
        columns = list(zip(*rows, strict=True))
        self.labels.see(columns)
        grid = np.stack([column(cells) for cells in columns], axis=1)
        self.nans = np.isnan(grid) & np.array([[_says_nan(cell) for cell in row] for row in rows])
        clock = (
            [unix_time(cell) for cell in columns[self.at(self.place.time)]]
            if self.place.time is not None
            else []
        )
        return grid, np.array(clock) if clock else np.full(len(rows), np.nan), np.array(numbers, np.int64)

    def _written(self, lines: list[bytes], first: int) -> tuple[list[list[str]], list[int]]:
        """The cells of every row as they were written, and on which line each stands."""
        rows: list[list[str]] = []
        numbers: list[int] = []
        width = len(self.names)
        for number_, line in enumerate(lines, first):
            if not line.strip() or line.startswith(b"#"):
                continue
            cells = cells_of(line.decode("utf-8", "replace").replace("\0", ""), self.delimiter)
            if len(cells) != width and not (len(cells) == width + 1 and not cells[-1].strip()):
                self.damages.append((number_, f"the row has {len(cells)} cells where the header has {width}"))
                if len(cells) < width:
                    continue
            rows.append(self._plain(cells[:width]))
            numbers.append(number_)
        return rows, numbers

    def _plain(self, cells: list[str]) -> list[str]:
        """The cells of a row with points before their decimals."""
        self.decimals.see(cells, groups=self.delimiter != ",")
        comma = self.decimals.comma
        return list(map(with_point, cells)) if comma or (comma is None and self.delimiter == ";") else cells

    def _clock(self, grid: Grid) -> FloatArray:
        if self.place.time is None:
            return np.full(len(grid), np.nan)
        column = grid[:, self.at(self.place.time)]
        if ((column > SECONDS[0]) & (column < SECONDS[1])).all():
            return np.ascontiguousarray(column)
        return np.array([unix_time(value) for value in column.tolist()])

    def begins(self, line: bytes) -> bool:
        """Whether a later line begins as this header did: it may be a header that has changed."""
        return bool(self.start) and line.startswith(self.start)
