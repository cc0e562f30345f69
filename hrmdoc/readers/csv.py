"""Tables in CSV or TSV: Lightning, Keras, Ultralytics, exports of W&B and Trackio, nvidia-smi, own
scripts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from hrmdoc.readers.base import Context
from hrmdoc.readers.support.decimals import Decimals, comma_in, with_point
from hrmdoc.readers.support.grid import Grid, column, json_rows, matrix
from hrmdoc.readers.support.labels import RUN_KEYS, Labels, metric_of, renamed, sums
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.support.table import (
    AXES,
    EPOCH_KEYS,
    RESTARTING,
    SECONDS,
    STEP_KEYS,
    TIME_KEYS,
    Columns,
    Counter,
    Places,
    number,
    places,
    split_of,
    unix_time,
    with_split,
)
from hrmdoc.readers.support.vanished import Vanished
from hrmdoc.record.records import Damage, FloatArray, IntArray, Record
from hrmdoc.text import patterns

NAME = "csv"
TITLE = "CSV and TSV tables (Lightning, Keras, Ultralytics, W&B and Trackio exports)"
WHOLE = False

_DELIMITERS = (",", "\t", ";", "|")
_RUN_PREFIX = patterns.lazy(r"^(?P<run>.+?) - (?P<metric>[^-].*)$")
_SPREAD = patterns.lazy(r"__(?:MIN|MAX)$")
_WORD = patterns.lazy(r"[A-Za-z]")
_METRIC = patterns.lazy(
    r"loss|acc|reward|perplexity|ppl|grad_norm|learning_rate|utilization\.gpu|f1|auc|score", re.IGNORECASE
)
_LETTER = frozenset(
    b"abcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ"
)  # all but the e and E of an exponent

_MONITORED = b'#{"t_start"'
_NAN = frozenset({"nan", "nan.0"})
_NAMELESS = (
    "has no line of names; its columns are col1 to col{}: say what they are, as with --role train.loss=col2"
)


def sniff(path: Path, head: bytes) -> float:
    """Sure when a header of names is followed by rows of as many cells, mostly numbers."""
    named = path.suffix.lower() in (".csv", ".tsv")
    lines = [
        line
        for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:12]
        if line.strip() and not line.startswith(b"#")
    ]
    if not lines or b"\0" in head or len(lines[0]) > 1 << 16:
        return 0.0
    if head.startswith(_MONITORED):
        return 0.9
    header = lines[0].decode("utf-8", "replace")
    delimiter = _delimiter(header)
    names = renamed(_cells(header, delimiter), path.name, "")
    if named and _is_row(names) and len(lines) > 2:
        return 0.3  # columns of numbers without names
    if (
        len(lines) > 2
        and metric_of(path.name)
        and all(_is_number(line.decode("utf-8", "replace")) for line in lines[:-1])
    ):
        return 0.5  # a column of numbers whose name the file has
    if named and len(names) == 1 and len(lines) > 3 and _METRIC.search(names[0]) and _is_header(names):
        return 0.7 if all(_is_number(line.decode("utf-8", "replace")) for line in lines[1:-1]) else 0.0
    if len(names) < 2 or not _is_header(names):
        return 0.0
    rows = [
        _cells(line.decode("utf-8", "replace"), delimiter)
        for line in lines[1 : 10 if head.endswith(b"\n") else -1]
    ]
    if not rows:
        return 0.3 if named and _counted(names) else 0.0
    whole = [row for row in rows if len(row) == len(names)]
    cells = [cell for row in whole for cell in row if cell.strip()]
    numeric = sum(_is_number(cell) for cell in cells)
    if len(whole) < 0.7 * len(rows) or numeric < 0.5 * len(cells):
        return 0.0
    counted, metric = _counted(names), any(_METRIC.search(name) for name in names)
    if not counted and not metric:
        return 0.0  # a table of numbers, but rather data than a log
    return 0.9 if named else 0.6 if counted else 0.0


def _counted(names: list[str]) -> bool:
    """Whether a column counts steps, epochs or time."""
    wanted = {key.lower() for key in (*STEP_KEYS, *EPOCH_KEYS, *TIME_KEYS)}
    return any(name.strip().lower() in wanted for name in names)


def _delimiter(line: str) -> str:
    """What parts the names of a header or, in a line of numbers, leaves nothing but numbers."""

    def parted(sign: str) -> tuple[bool, int, int]:
        cells = _cells(line, sign)
        return len(cells) > 1 and _is_row(cells), len(cells), -_DELIMITERS.index(sign)

    return max(_DELIMITERS, key=parted)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return []


def _is_header(names: list[str]) -> bool:
    """Names, not numbers: at least half of the cells begin like a word."""
    named = [name for name in names if name.strip()]
    return bool(named) and sum(bool(_WORD.search(name)) and number(name) is None for name in named) * 2 > len(
        named
    )


def _is_row(cells: list[str]) -> bool:
    """Numbers and nothing else, as below a header."""
    return bool(cells) and all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    return number(cell) is not None or bool(comma_in(cell))


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = Columns(context, precision=3)
        self._counter = Counter()
        self._header: _Header | None = None
        self._decimals = Decimals()
        self._comment = ""
        self._kept: list[Damage] = []
        self._unread = LeftOut(context.path, "rows of another width")

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        first = self._lines.number
        lines = self._lines.split(block)
        begin = 0
        header = self._header
        plain = header is not None and not (header.start and header.start in block)
        for at, line in enumerate(() if plain else lines):
            if self._header is None or _may_be_header(line, self._header):
                self._rows(lines[begin:at], first + begin)
                begin = at + self._start_header(line, first + at)
        self._rows(lines[begin:], first + begin)
        yield from self._kept
        self._kept = []
        yield from self._notes()
        yield from self._columns.points()

    def close(self) -> Iterator[Record]:
        """The last line, and where a loss has vanished."""
        yield from super().close()
        yield from self._unread.rest()
        if header := self._header:
            names = {at: metric for at, metric, source in header.metrics if not source}
            for at in header.vanished.columns():
                if at in names:
                    self._take(names[at], np.array([np.nan]), np.array([True]), header.gaps[at], "")
        yield from self._columns.points()

    def _notes(self) -> Iterator[Damage]:
        yield from self._overlong()
        if self._header:
            for line, what in self._header.damages:
                yield from self._unread.at(line, what)
            self._header.damages.clear()

    def _start_header(self, line: bytes, number_: int) -> int:
        """Takes a header line; 1 when it was one, or nothing that a row could be."""
        text = line.decode("utf-8", "replace").lstrip("\ufeff")
        if not text.strip() or text.startswith("#"):
            self._comment = text.lstrip("# ") if text.strip() else self._comment
            return 1
        delimiter = _delimiter(text)
        names = _cells(text, delimiter)
        whole = renamed(names, self._context.path, self._comment) if self._header is None else names
        if self._header is None and _is_row(names) and whole == names:
            above = _cells(self._comment, delimiter)  # as numpy's savetxt writes them
            if len(above) == len(names) and _is_header(above):
                self._header = _Header(above, delimiter, split_of(self._context.path), self._decimals)
                return 0
            named = metric_of(self._context.path)
            if named and text.strip() == "0":
                return 1  # the name that pandas gives the only column of a list
            if named and (len(names) == 1 or (len(names) == 2 and number(names[0]) in (0, 1))):
                self._header = _Header(
                    ["step", named][-len(names) :], delimiter, split_of(self._context.path), self._decimals
                )
                return 0
            self._header = _Header(
                [f"col{at}" for at in range(1, len(names) + 1)], delimiter, "", self._decimals
            )
            self._header.damages.append((number_, _NAMELESS.format(len(names))))
            return 0
        if not _is_header(whole):
            return 1 if self._header is None else 0
        if self._header:
            self._kept += self._notes()
        names = renamed(names, self._context.path, self._comment)
        self._header = _Header(names, delimiter, split_of(self._context.path), self._decimals)
        return 1

    def _rows(self, lines: list[bytes], first: int) -> None:
        header = self._header
        if header is None or not lines:
            return
        grid, times, numbers = header.grid(lines, first)
        if not len(grid):
            return
        place, count = header.place, len(grid)
        nothing = np.full(count, np.nan)
        step = grid[:, header.at(place.step)] if place.step is not None else nothing
        epoch = grid[:, header.at(place.epoch)] if place.epoch is not None else nothing
        steps, axes = self._counter.steps(step, epoch, np.full(count, place.step in RESTARTING))
        place_of = _Places(np.arange(first, first + count), steps, axes, times, numbers)
        filled = ~np.isnan(grid) | header.nans
        for run, own in header.runs(grid):
            self._columns_of(header, grid, filled & own[:, None], place_of, run)
        for at, row in header.vanished.see(filled):
            header.gaps[at] = place_of.only(row)

    def _columns_of(
        self, header: _Header, grid: Grid, filled: NDArray[np.bool_], place_of: _Places, run: str
    ) -> None:
        """Adds the cells that are `filled`, of the rows of one run."""
        place, times = header.place, place_of.times
        for at, metric, source in header.metrics:
            values, here = grid[:, at], filled[:, at]
            if header.names[at] == place.time:
                here = here & np.isnan(times)  # seconds of the run, not of the world, are a metric
            named = self._source(source or run)
            for label, rows in header.labels.of(metric, at):
                self._take(label, values, here if rows is None else here & rows, place_of, named)
        for metric, parts in header.sums.items():
            whole = np.logical_and.reduce(filled[:, parts], axis=1)
            self._take(metric, grid[:, parts].sum(axis=1), whole, place_of, self._source(run))

    def _source(self, run: str) -> str:
        """The name of the source of a run among several in the file."""
        return f"{self._context.source or self._context.path}#{run}" if run else ""

    def _take(
        self, metric: str, values: FloatArray, here: NDArray[np.bool_], rows: _Places, source: str
    ) -> None:
        """Adds the values of the rows that are `here` to a metric."""
        whole = bool(here.all() and (rows.axes == rows.axes[0]).all())
        for axis in rows.axes[:1] if whole else np.unique(rows.axes[here]):
            n = slice(None) if whole else np.flatnonzero(here & (rows.axes == axis))
            self._columns.add(
                metric,
                rows.order[n],
                np.ascontiguousarray(values[n]),
                steps=rows.steps[n],
                times=rows.times[n],
                lines=rows.lines[n],
                axis=AXES[axis],
                source=source,
            )


class _Places(NamedTuple):
    """Where rows stand, arrays of shape [n]."""

    order: IntArray
    steps: IntArray
    axes: IntArray
    times: FloatArray
    lines: IntArray

    def only(self, row: int) -> _Places:
        """Where one of the rows stands."""
        n = slice(row, row + 1)
        return _Places(self.order[n], self.steps[n], self.axes[n], self.times[n], self.lines[n])


def _may_be_header(line: bytes, header: _Header) -> bool:
    """A later line that begins as the header did may be a header that has changed."""
    return bool(header.start) and line.startswith(header.start)


class _Header:
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
        self.gaps: dict[int, _Places] = {}
        self.metrics = list(self._metrics())

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
        metric."""
        seen: set[str] = set()
        for at, name in enumerate(self.names):
            if name in seen or not name or name == self.place.step or at in self._run or _SPREAD.search(name):
                continue
            seen.add(name)
            found = _RUN_PREFIX.match(name)
            if found:
                yield at, with_split(found["metric"], self.split), found["run"]
            else:
                yield at, with_split(name, self.split), ""

    def grid(self, lines: list[bytes], first: int) -> tuple[Grid, FloatArray, NDArray[np.int64]]:
        """Numbers of shape [n, columns], NaN where a cell is missing; Unix seconds [n]; line numbers [n].

        `nans` tells afterwards where a cell said NaN.
        """
        width = len(self.names)
        fast = self._fast(lines, width)
        if fast is not None:
            self.nans = np.zeros(fast.shape, np.bool_)
            self.labels.see(())
            self._cells = []
            return fast, self._clock(fast), np.arange(first, first + len(fast))
        rows: list[list[str]] = []
        numbers: list[int] = []
        for offset, line in enumerate(lines):
            if not line.strip() or line.startswith(b"#"):
                continue
            cells = _cells(line.decode("utf-8", "replace").replace("\0", ""), self.delimiter)
            if len(cells) != width and not (len(cells) == width + 1 and not cells[-1].strip()):
                self.damages.append(
                    (first + offset, f"the row has {len(cells)} cells where the header has {width}")
                )
                if len(cells) < width:
                    continue
            rows.append(self._plain(cells[:width]))
            numbers.append(first + offset)
        self._cells = [tuple(row[at].strip() for at in self._run) for row in rows] if self._run else []
        if not rows:
            return np.zeros((0, width)), np.zeros(0), np.zeros(0, np.int64)
        columns = list(zip(*rows, strict=True))
        self.labels.see(columns)
        grid = np.stack([column(cells) for cells in columns], axis=1)
        self.nans = np.isnan(grid) & np.array(
            [[cell.strip().lower().lstrip("+-") in _NAN for cell in row] for row in rows]
        )
        clock = (
            [unix_time(cell) for cell in columns[self.at(self.place.time)]]
            if self.place.time is not None
            else []
        )
        return grid, np.array(clock) if clock else np.full(len(rows), np.nan), np.array(numbers, np.int64)

    def _plain(self, cells: list[str]) -> list[str]:
        """The cells of a row with points before their decimals."""
        self.decimals.see(cells, groups=self.delimiter != ",")
        comma = self.decimals.comma
        return list(map(with_point, cells)) if comma or (comma is None and self.delimiter == ";") else cells

    def _fast(self, lines: list[bytes], width: int) -> Grid | None:
        """Rows of plain numbers and empty cells read as JSON, ten times as fast; None when there is anything
        else."""
        if self.delimiter != ",":
            return None
        body = b"],[".join(lines).replace(b"\r],[", b"],[").removesuffix(b"\r")
        if b"\r" in body or b'"' in body or b" " in body or _LETTER.intersection(body[:4096]):
            return None
        try:
            rows = json_rows(body)
            if any(map(width.__ne__, map(len, rows))):
                return None
            if self.decimals.comma is None and b"." in body:
                self.decimals.comma = False
            return matrix(rows, width)
        except (orjson.JSONDecodeError, ValueError, TypeError):
            return None

    def _clock(self, grid: Grid) -> FloatArray:
        if self.place.time is None:
            return np.full(len(grid), np.nan)
        column = grid[:, self.at(self.place.time)]
        if ((column > SECONDS[0]) & (column < SECONDS[1])).all():
            return np.ascontiguousarray(column)
        return np.array([unix_time(value) for value in column.tolist()])
