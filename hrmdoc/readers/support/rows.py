"""Rows of a growing table, each a mapping of names to cells, made into points.

Rows with the same names form a shape; a shape is converted column by column, which is what makes long logs
fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hrmdoc.readers.base import Context
from hrmdoc.readers.support.flatten import flatten
from hrmdoc.readers.support.table import (
    AXES,
    RESTARTING,
    SECONDS,
    SPLIT_KEYS,
    Columns,
    Counter,
    Places,
    number,
    places,
    split_named,
    split_of,
    unix_time,
    with_split,
)
from hrmdoc.readers.support.typed_rows import Column
from hrmdoc.record.run import FloatArray, IntArray, Points

_MAX_SHAPES = 2000


class _Shape:
    """Rows of one set of names in the block at hand: as mappings, or as columns."""

    __slots__ = ("columns", "names", "nested", "order", "place", "rows", "split")

    def __init__(self, names: tuple[str, ...], nested: bool, split: str) -> None:
        self.names = names
        self.split = split
        self.nested = nested
        self.place: Places = places(names)
        self.order: list[int] = []
        self.rows: list[dict[str, Any]] = []
        self.columns: Sequence[Column] = ()

    def clear(self) -> None:
        """Forgets all rows."""
        self.order, self.rows, self.columns = [], [], ()

    def column(self, at: int) -> list[Any]:
        """The cells of one column as they were written."""
        if self.columns:
            return list(self.columns[at])
        name = self.names[at]
        return [row[name] for row in self.rows]


class Rows:
    """Collects rows of one file; `points` gives what was collected since the last call.

    Args:
        context: the file.
        precision: see `Points`.
    """

    def __init__(self, context: Context, precision: int) -> None:
        self._columns = Columns(context, precision)
        self._counter = Counter()
        self._shapes: dict[tuple[tuple[str, ...], str], _Shape] = {}
        self._split_keys: dict[tuple[str, ...], str | None] = {}
        self._split = split_of(context.path)
        self._lines: list[int] = []
        self._gaps = _Gaps()

    def add(self, row: Mapping[str, Any], line: int) -> None:
        """Takes one row in. Nested mappings are made flat; cells that are no numbers are passed by."""
        names = tuple(row)
        split = self._split_in(names, row)
        shape = self._shapes.get((names, split))
        if shape is None:
            if len(self._shapes) >= _MAX_SHAPES:
                return
            shape = self._shapes[names, split] = _Shape(
                names, any(isinstance(value, dict) for value in row.values()), split
            )
        if shape.nested and any(isinstance(value, dict) for value in row.values()):
            self.add(dict(flatten(row)), line)
            return
        shape.order.append(len(self._lines))
        shape.rows.append(row if isinstance(row, dict) else dict(row))
        self._lines.append(line)

    def add_all(self, rows: list[dict[str, Any]], first: int, *, alike: bool) -> None:
        """Takes rows of consecutive lines in, the first at line `first`; `alike`: all have the same keys in
        the same order."""
        shape = self._plain_shape(tuple(rows[0]), rows[0]) if alike else None
        if shape is None:
            for offset, row in enumerate(rows):
                self.add(row, first + offset)
            return
        shape.rows.extend(rows)
        self._number(shape, len(rows), first)

    def takes_columns(self, names: tuple[str, ...]) -> bool:
        """Whether `add_columns` may be called: flat rows of these names came before, and none wait."""
        return (
            not self._lines
            and self._split_keys.get(names, "") is None
            and self._plain_shape(names, {}) is not None
        )

    def add_columns(self, names: tuple[str, ...], columns: Sequence[Column], first: int) -> None:
        """Takes rows of consecutive lines in as columns, the first of them at line `first`; see
        `takes_columns`."""
        shape = self._plain_shape(names, {})
        assert shape is not None
        shape.columns = columns
        self._number(shape, len(columns[0]), first)

    def _number(self, shape: _Shape, rows: int, first: int) -> None:
        """Notes that the next `rows` rows are of `shape` and begin at line `first`."""
        count = len(self._lines)
        shape.order.extend(range(count, count + rows))
        self._lines.extend(range(first, first + rows))

    def _plain_shape(self, names: tuple[str, ...], row: Mapping[str, Any]) -> _Shape | None:
        """The shape of a row that is known already, is flat, and has no cell that names its split."""
        split = self._split_in(names, row)
        if self._split_keys.get(names, "") is not None:
            return None
        shape = self._shapes.get((names, split))
        return None if shape is None or shape.nested else shape

    def _split_in(self, names: tuple[str, ...], row: Mapping[str, Any]) -> str:
        """The part of the data that a cell of the row names (`"split": "val"`), else that of the file."""
        if names not in self._split_keys and len(self._split_keys) < _MAX_SHAPES:
            self._split_keys[names] = next((key for key in SPLIT_KEYS if isinstance(row.get(key), str)), None)
        key = self._split_keys.get(names)
        word = row.get(key) if key else None
        return (split_named(word) if isinstance(word, str) else "") or self._split

    def points(self) -> Iterator[Points]:
        """Points of the rows that were added, metric by metric."""
        if not self._lines:
            return
        count = len(self._lines)
        used = [shape for shape in self._shapes.values() if shape.order]
        step, epoch, time = (np.full(count, np.nan) for _ in range(3))
        columns = [_columns(shape) for shape in used]
        restarting = np.zeros(count, np.bool_)
        for shape, cells in zip(used, columns, strict=True):
            order, place = np.array(shape.order, np.int64), shape.place
            if place.step is not None:
                step[order] = cells[place.step]
                restarting[order] = place.step in RESTARTING
            if place.epoch is not None:
                epoch[order] = cells[place.epoch]
            if place.time is not None:
                time[order] = _times(shape, cells[place.time])
        steps, axes = self._counter.steps(step, epoch, restarting)
        lines = np.array(self._lines, np.int64)
        for shape, cells in zip(used, columns, strict=True):
            self._take(shape, cells, steps, axes, time, lines)
            shape.clear()
        self._lines = []
        yield from self._columns.points()

    def _take(
        self,
        shape: _Shape,
        cells: Mapping[str, FloatArray],
        steps: IntArray,
        axes: IntArray,
        times: FloatArray,
        lines: IntArray,
    ) -> None:
        order = np.array(shape.order, np.int64)
        kinds = axes[order]
        whole = (steps[order], times[order], lines[order]) if (kinds == kinds[0]).all() else None
        for at, name in enumerate(shape.names):
            if name == shape.place.step:
                continue
            values = cells[name]
            if name == shape.place.time:  # seconds of the run, not of the world, are a metric
                here = np.isfinite(values) & np.isnan(times[order])
            else:
                here = self._gaps.present(shape, at, values)
            if not here.any():
                continue
            metric = with_split(name, shape.split)
            if whole is not None and here.all():
                self._columns.add(
                    metric, order, values, steps=whole[0], times=whole[1], lines=whole[2], axis=AXES[kinds[0]]
                )
                continue
            chosen, kept = order[here], values[here]
            for axis in np.unique(axes[chosen]):
                same = axes[chosen] == axis
                n = chosen[same]
                self._columns.add(
                    metric, n, kept[same], steps=steps[n], times=times[n], lines=lines[n], axis=AXES[axis]
                )


def _columns(shape: _Shape) -> dict[str, FloatArray]:
    """The cells as numbers, name -> shape [n]; NaN for what is missing or no number."""
    if shape.columns:
        return {name: _numbers(column) for name, column in zip(shape.names, shape.columns, strict=True)}
    width = len(shape.names)
    try:
        flat = np.fromiter(
            chain.from_iterable(map(dict.values, shape.rows)), np.float64, width * len(shape.rows)
        )
        matrix = np.ascontiguousarray(flat.reshape(-1, width).T)
        return {name: matrix[at] for at, name in enumerate(shape.names)}
    except (ValueError, TypeError, OverflowError):
        return {name: _numbers(shape.column(at)) for at, name in enumerate(shape.names)}


def _numbers(column: Column) -> FloatArray:
    """Cells as numbers, shape [n]."""
    if isinstance(column, np.ndarray):
        return column
    try:
        found = np.array(column, np.float64)
    except (ValueError, TypeError, OverflowError):
        found = np.array([np.nan if (value := number(cell)) is None else value for cell in column])
    return found if found.ndim == 1 else np.full(len(column), np.nan)


def _times(shape: _Shape, cells: FloatArray) -> FloatArray:
    """Unix seconds of every row, shape [n]; `cells` is the column of the clock as numbers."""
    if ((cells > SECONDS[0]) & (cells < SECONDS[1])).all():
        return cells
    return np.array([unix_time(cell) for cell in shape.column(shape.names.index(shape.place.time or ""))])


class _Gaps:
    """Tells a missing cell from a not-a-number.

    Strict JSON has no NaN: many writers put `null` there. So a `null` is a NaN where the column has had a
    number in every row of its shape so far (three at least); elsewhere the metric was not logged in that row.
    """

    def __init__(self) -> None:
        self._always: dict[tuple[tuple[str, ...], str], int] = {}

    def present(self, shape: _Shape, at: int, values: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows of the column hold a value (NaN among them), shape [n]."""
        names, name = shape.names, shape.names[at]
        here = np.isfinite(values)
        if here.all():
            seen = self._always.get((names, name), 0)
            if seen >= 0:
                self._always[names, name] = seen + len(values)
            return here
        cells = shape.column(at)
        for at in np.flatnonzero(~here).tolist():
            here[at] = isinstance(cells[at], float) or (
                isinstance(cells[at], str) and number(cells[at]) is not None
            )
        for at in np.flatnonzero(~here).tolist():
            if cells[at] is not None:
                self._always[names, name] = -1
                continue
            seen = self._always.get((names, name), 0)
            before = int(here[:at].sum()) + seen
            if seen >= 0 and before == seen + at and before >= 3:
                here[at] = True
            elif seen >= 0:
                self._always[names, name] = -1
        if self._always.get((names, name), 0) >= 0:
            self._always[names, name] = self._always.get((names, name), 0) + len(cells)
        return here
