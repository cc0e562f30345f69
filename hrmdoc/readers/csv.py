"""Tables in CSV or TSV: Lightning, Keras, Ultralytics, exports of W&B and Trackio, nvidia-smi, own
scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_LINE
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.columns import Columns
from hrmdoc.readers.tables.counter import AXES, Counter
from hrmdoc.readers.tables.decimals import Decimals
from hrmdoc.readers.tables.grid import Grid
from hrmdoc.readers.tables.header import (
    Header,
    Read,
    RowPlaces,
    cells_of,
    delimiter_of,
    is_header,
    is_number,
    is_row,
)
from hrmdoc.readers.tables.keys import (
    EPISODES,
    EPOCH_KEYS,
    RESTARTING,
    STEP_KEYS,
    TIME_KEYS,
    split_named,
    split_of,
)
from hrmdoc.readers.tables.labels import INDEX, metric_of, renamed
from hrmdoc.record.records import Damage, Fact, FloatArray, Record
from hrmdoc.text import patterns

NAME = "csv"
TITLE = "CSV and TSV tables (Lightning, Keras, Ultralytics, W&B and Trackio exports)"
WHOLE = False

_METRIC = patterns.lazy(
    r"loss|acc|reward|perplexity|ppl|grad_norm|learning_rate|utilization\.gpu|f1|auc|score|fitness",
    re.IGNORECASE,
)

_MONITORED = patterns.lazy(rb'#\s?\{[^\n]{0,400}"t_start"')
"""How a Monitor of Gym begins its file of episodes."""
_NAMELESS = (
    "has no line of names; its columns are col1 to col{}: say what they are, as with --role train.loss=col2"
)


def sniff(path: Path, head: bytes) -> float:
    """Sure when a header of names is followed by rows of as many cells, mostly numbers."""
    head = head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"")  # holes of a machine that lost its power
    lines = [
        line.decode("utf-8", "replace")
        for line in head.split(b"\n")[:12]
        if line.strip() and not line.startswith(b"#")
    ]
    if not lines or len(lines[0]) > 1 << 16:
        return 0.0
    if _MONITORED.match(head):
        return 0.9
    delimiter = delimiter_of(lines[0])
    names = renamed(cells_of(lines[0], delimiter), path.name, "")
    sure = _of_one_column(path, names, lines)
    if sure is None:
        lines = lines[1 : 10 if head.endswith(b"\n") else -1]
        sure = _of_columns(path, names, [cells_of(line, delimiter) for line in lines])
    return sure


def _of_one_column(path: Path, names: list[str], lines: list[str]) -> float | None:
    """How sure that these are numbers without names, or below one name; None where there are more names."""
    named = _is_named(path)
    if named and is_row(names) and len(lines) > 2:
        return 0.3  # columns of numbers without names
    if len(lines) > 2 and metric_of(path.name) and _is_series(lines[:-1], len(names)):
        return 0.5  # a column of numbers whose name the file has
    if named and len(names) == 1 and len(lines) > 3 and _METRIC.search(names[0]) and is_header(names):
        return 0.7 if all(map(is_number, lines[1:-1])) else 0.0
    return 0.0 if len(names) < 2 or not is_header(names) else None


def _is_series(lines: list[str], width: int) -> bool:
    """Whether each line is a number, perhaps with its step in front."""
    return all(map(is_number, lines)) or (width == 2 and all(map(_is_counted, lines)))


def _of_columns(path: Path, names: list[str], rows: list[list[str]]) -> float:
    """How sure that these are a header and rows of a training log."""
    named, counted = _is_named(path), _counted(names)
    if not rows:
        return 0.3 if named and counted else 0.0
    whole = [row for row in rows if len(row) == len(names)]
    cells = list(filter(str.strip, chain.from_iterable(whole)))
    numeric = sum(map(is_number, cells))
    if len(whole) < 0.7 * len(rows) or numeric < 0.5 * len(cells):
        return 0.0
    metrics = len(list(filter(_METRIC.search, names))) or _sides(names)
    if counted or (named and metrics):
        return 0.9 if named else 0.6
    return 0.5 if _of_metrics(metrics, len(names)) and numeric == len(cells) else 0.0


def _of_metrics(metrics: int, columns: int) -> bool:
    """Nothing counts, but the columns are metrics; any other table of numbers is rather data than a log."""
    return metrics > 1 and 2 * metrics >= columns


def _sides(names: list[str]) -> int:
    """How many columns bear no name but that of a part of the data, where some are of the training and some
    are not and nothing else is there but a count."""
    told = [name.strip().lower() for name in names[_is_index(names[0]) :]]
    held_out = sum(bool(split_named(name)) for name in told)
    return len(told) if 0 < held_out < len(told) and held_out + told.count("train") == len(told) else 0


def _is_counted(line: str) -> bool:
    """Whether a line is a whole number and a number."""
    cells = cells_of(line.strip(), delimiter_of(line))
    return len(cells) == 2 and is_row(cells) and float(number(cells[0]) or 0).is_integer()


def _is_index(name: str) -> bool:
    return name.strip().lower() in INDEX


def _is_named(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv")


def _counted(names: list[str]) -> bool:
    """Whether a column counts steps, epochs or time."""
    wanted = {key.lower() for key in (*STEP_KEYS, *EPOCH_KEYS, *TIME_KEYS)}
    return any(name.strip().lower() in wanted for name in names)


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._columns = Columns(context, precision=3)
        self._counter = Counter()
        self._header: Header | None = None
        self._decimals = Decimals()
        self._comment = ""
        self._kept: list[Damage | Fact] = []
        self._unread = LeftOut(context.path, "rows of another width")

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        if not self._plain(block):
            self._mixed(block)
        yield from self._kept
        self._kept = []
        yield from self._notes()
        yield from self._columns.points()

    def _plain(self, block: bytes) -> bool:
        """Takes in a block at once that is rows of plain numbers and nothing else; whether it was one."""
        header, first = self._header, self._lines.number
        if header is None or len(block) > MAX_LINE or (header.start and header.start in block):
            return False
        read = header.plain(block, first)
        if read is None:
            return False
        self._lines.number += len(read[0])
        self._take_rows(header, read, first)
        return True

    def _mixed(self, block: bytes) -> None:
        """Takes in rows of any form, and headers among them."""
        first = self._lines.number
        lines = self._lines.split(block)
        begin = 0
        header = self._header
        plain = header is not None and not (header.start and header.start in block)
        for at, line in enumerate(() if plain else lines):
            if self._header is None or self._header.begins(line):
                self._rows(lines[begin:at], first + begin)
                begin = at + self._start_header(line, first + at)
        self._rows(lines[begin:], first + begin)

    def close(self) -> Iterator[Record]:
        """The last line, and where a loss has vanished."""
        yield from super().close()
        yield from self._unread.rest()
        if header := self._header:
            self._end_waits(header)
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
        delimiter = delimiter_of(text)
        names = cells_of(text, delimiter)
        whole = renamed(names, self._context.path, self._comment) if self._header is None else names
        if self._header is None and is_row(names) and whole == names:
            return self._start_numbers(names, delimiter, number_)
        if not is_header(whole):
            return 1 if self._header is None else 0
        if self._header:
            self._kept += self._notes()
            self._end_waits(self._header)
        names = renamed(names, self._context.path, self._comment)
        self._header = Header(names, delimiter, split_of(self._context.path), self._decimals)
        if (self._header.place.step or "").lower() in EPISODES:
            self._kept.append(Fact("run.counts", "episodes", file=self._context.path, line=number_))
        return 1

    def _start_numbers(self, names: list[str], delimiter: str, number_: int) -> int:
        """Takes a first line of numbers, whose columns have their names elsewhere or nowhere; 1 when it is
        no row."""
        path, width = self._context.path, len(names)
        above = cells_of(self._comment, delimiter)  # as numpy's savetxt writes them
        if len(above) == width and is_header(above):
            self._header = Header(above, delimiter, split_of(path), self._decimals)
            return 0
        named = metric_of(path)
        if named and names == ["0"]:
            return 1  # the name that pandas gives the only column of a list
        if named and (width == 1 or (width == 2 and float(number(names[0]) or 0).is_integer())):
            self._header = Header(["step", named][-width:], delimiter, split_of(path), self._decimals)
            return 0
        self._header = Header([f"col{at}" for at in range(1, width + 1)], delimiter, "", self._decimals)
        self._header.damages.append((number_, _NAMELESS.format(width)))
        return int(width > 2 and names == [str(at) for at in range(width)])  # as pandas names columns of none

    def _rows(self, lines: list[bytes], first: int) -> None:
        header = self._header
        if header is None or not lines:
            return
        self._take_rows(header, header.grid(lines, first), first)

    def _take_rows(self, header: Header, read: Read, first: int) -> None:
        """Adds the cells of rows that begin at line `first`."""
        grid, times, numbers = read
        if not len(grid):
            return
        place, count = header.place, len(grid)
        nothing = np.full(count, np.nan)
        step = grid[:, header.at(place.step)] if place.step is not None else nothing
        epoch = grid[:, header.at(place.epoch)] if place.epoch is not None else nothing
        steps, axes = self._counter.steps(step, epoch, np.full(count, place.step in RESTARTING))
        place_of = RowPlaces(np.arange(first, first + count), steps, axes, times, numbers)
        filled = ~np.isnan(grid)
        filled |= self._nans(header, filled, place_of)
        for run, own in header.runs(grid):
            self._columns_of(header, grid, filled & own[:, None], place_of, run)
        for at, row in header.vanished.see(filled | header.nans):
            header.gaps[at] = place_of.only(slice(row, row + 1))

    def _nans(self, header: Header, filled: NDArray[np.bool_], place_of: RowPlaces) -> NDArray[np.bool_]:
        """Which cells that say NaN are values, shape [n, columns]; adds those that turn out to be."""
        values, waits, ends = header.blanks.see(filled, header.nans)
        for row, at, sound in ends:
            waited = [*header.waiting.pop(at, ()), place_of.only(np.flatnonzero(waits[:row, at]))]
            waits[:row, at] = False
            for rows in waited if sound else ():
                self._add_nans(header, at, rows)
        for at in np.flatnonzero(waits.any(axis=0)).tolist():
            header.waiting.setdefault(at, []).append(place_of.only(np.flatnonzero(waits[:, at])))
        return values

    def _end_waits(self, header: Header) -> None:
        """Adds the NaNs that waited for a number of their columns, which did not come."""
        for at, waited in header.waiting.items():
            for rows in waited:
                self._add_nans(header, at, rows)
        header.waiting.clear()

    def _add_nans(self, header: Header, at: int, rows: RowPlaces) -> None:
        """Adds a NaN of each of the rows to the metric of a column."""
        count = len(rows.order)
        if count:
            metric = next(metric for own, metric, _ in header.metrics if own == at)
            self._take(metric, np.full(count, np.nan), np.ones(count, np.bool_), rows, "")

    def _columns_of(
        self, header: Header, grid: Grid, filled: NDArray[np.bool_], place_of: RowPlaces, run: str
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
        self, metric: str, values: FloatArray, here: NDArray[np.bool_], rows: RowPlaces, source: str
    ) -> None:
        """Adds the values of the rows that are `here` to a metric."""
        whole = bool(here.all() and (rows.axes == rows.axes[0]).all())
        for axis in rows.axes[:1] if whole else np.unique(rows.axes[here]):
            n = None if whole else np.flatnonzero(here & (rows.axes == axis))
            at = rows if n is None else rows.only(n)
            self._columns.add(
                metric,
                at.order,
                np.ascontiguousarray(values if n is None else values[n]),
                steps=at.steps,
                times=at.times,
                lines=at.lines,
                axis=AXES[axis],
                source=source,
            )
