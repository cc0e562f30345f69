"""Rows of a growing table, each a mapping of names to cells, made into points.

Rows with the same names, in whatever order, form a shape; a shape is converted column by column, which is
what makes long logs fast. Where a table has more shapes than is worth it, the other rows are taken cell by
cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import flatten
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.tables.columns import Columns
from hrmdoc.readers.tables.counter import AXES, Counter
from hrmdoc.readers.tables.gaps import Gaps
from hrmdoc.readers.tables.identity import KEYS, Identity
from hrmdoc.readers.tables.keys import EPISODES, RESTARTING, SPLIT_KEYS, split_named, split_of, with_split
from hrmdoc.readers.tables.shapes import Names, Scattered, Shape, columns_of, numbers_of, times_of
from hrmdoc.readers.tables.typed_rows import Part
from hrmdoc.record.records import Axis, Damage, Event, Fact, FloatArray, IntArray, Points

_ALL = slice(None)
_all = np.logical_and.reduce
"""Of an array, without what its method does around that: most blocks of a live run hold two rows."""
_QUICK_SHAPES = 500
_KNOWN_ORDERS = 2000


class Rows:
    """Collects rows of one file; `points` gives what was collected since the last call.

    Args:
        context: the file.
        precision: see `Points`.
    """

    def __init__(self, context: Context, precision: int) -> None:
        self._columns = Columns(context, precision)
        self._file, self._told = context.path, False
        self._counter, self._identity = Counter(), Identity()
        self._orders: dict[tuple[str, ...], Names] = {}
        self._names: dict[frozenset[str], Names] = {}
        self._shapes: dict[tuple[tuple[str, ...], str], Shape] = {}
        self._scattered = Scattered()
        self._split = split_of(context.path)
        self._lines: list[int] = []
        self._span: IntArray | None = None
        """The lines of rows that came as columns, in the place of `_lines`."""
        self._cut = LeftOut(context.path, "rows with cells that lie too deep or are too many")
        self._damages: list[Damage] = []

    def add(self, row: Mapping[str, Any], line: int) -> None:
        """Takes one row in. Nested mappings are made flat; cells that are no numbers are passed by."""
        if any(isinstance(cell, dict) for cell in row.values()):
            cut: list[str] = []
            row = dict(flatten(row, cut))
            if cut:
                self._damages += self._cut.at(line, f"{len(cut):,} cells lie too deep or are too many")
        order, spelled = len(self._lines), tuple(row)
        self._lines.append(line)
        names = self._named(spelled)
        if names is None:
            keys = [key for key in SPLIT_KEYS if key in row]
            self._scattered.add(row, self._split_in(keys, row), order)
            return
        shape = self._shape(names, self._split_in(names.split_keys, row))
        shape.alike = shape.alike and spelled == shape.names
        shape.order.append(order)
        shape.rows.append(row if isinstance(row, dict) else dict(row))

    def add_all(self, rows: list[dict[str, Any]], first: int, *, alike: bool) -> None:
        """Takes rows of consecutive lines in, the first at line `first`; `alike`: all have the same keys in
        the same order, and none holds a mapping."""
        names = self._named(tuple(rows[0])) if alike else None
        if names is None or names.split_keys:
            for offset, row in enumerate(rows):
                self.add(row, first + offset)
            return
        shape = self._shape(names, self._split)
        shape.alike = shape.alike and tuple(rows[0]) == shape.names
        shape.rows.extend(rows)
        count = len(self._lines)
        shape.order.extend(range(count, count + len(rows)))
        self._lines.extend(range(first, first + len(rows)))

    def takes_columns(self, names: Sequence[str]) -> bool:
        """Whether `add_columns` may be called: no rows wait, and none of these names gives the part of the
        data."""
        return not self._lines and self._span is None and not any(key in names for key in SPLIT_KEYS)

    def add_columns(self, parts: Sequence[Part], first: int) -> bool:
        """Takes rows of consecutive lines in as columns, the first of them at line `first`; see
        `takes_columns`. Their points are asked for before other rows come. Whether they were taken: none are
        where the table has shapes enough without theirs."""
        known = [names for part in parts if (names := self._named(tuple(part.columns)))]
        if len(known) < len(parts):
            return False
        for names, part in zip(known, parts, strict=True):
            shape = self._shape(names, self._split)
            shape.columns = [part.columns[name] for name in names.names]
            shape.at = part.order
        self._span = np.arange(first, first + sum(len(part.order) for part in parts))
        return True

    def _named(self, spelled: tuple[str, ...]) -> Names | None:
        """What these names say; None where the table has shapes enough without them."""
        names = self._orders.get(spelled)
        if names is not None:
            return names
        together = frozenset(spelled)
        names = self._names.get(together)
        if names is None:
            if len(self._names) >= _QUICK_SHAPES:
                return None
            names = self._names[together] = Names(spelled)
        if len(self._orders) < _KNOWN_ORDERS:
            self._orders[spelled] = names
        return names

    def _shape(self, names: Names, split: str) -> Shape:
        shape = self._shapes.get((names.names, split))
        if shape is None:
            shape = self._shapes[names.names, split] = Shape(names, split)
        return shape

    def _split_in(self, keys: Sequence[str], row: Mapping[str, Any]) -> str:
        """The part of the data that a cell of the row names (`"split": "val"`), else that of the file."""
        word = next((cell for key in keys if isinstance(cell := row[key], str)), "")
        return (split_named(word) if word else "") or self._split

    def rest(self) -> Iterator[Damage]:
        """What was left out and not reported yet, when the file has ended."""
        yield from self._cut.rest()

    def points(self) -> Iterator[Points | Damage | Fact | Event]:
        """Points of the rows that were added, metric by metric."""
        yield from self._damages
        self._damages = []
        lines = self._span if self._span is not None else np.array(self._lines, np.int64)
        count = len(lines)
        if not count:
            return
        used = [shape for shape in self._shapes.values() if shape.used]
        step, epoch, time = np.full((3, count), np.nan)
        columns = [columns_of(shape) for shape in used]
        restarting = np.zeros(count, np.bool_)
        for shape, cells in zip(used, columns, strict=True):
            order, place = _order_of(shape, count), shape.place
            if place.step is not None:
                step[order] = cells[place.step]
                restarting[order] = place.step in RESTARTING
            if place.epoch is not None:
                epoch[order] = cells[place.epoch]
            if place.time is not None:
                time[order] = times_of(shape, cells[place.time])
        if self._scattered.counters:
            orders, steps_, epochs, times, restarts = zip(*self._scattered.counters, strict=True)
            at = np.array(orders, np.int64)
            step[at], epoch[at] = numbers_of(steps_), numbers_of(epochs)
            time[at], restarting[at] = times, restarts
        if not self._told and any(shape.place.step in EPISODES for shape in used):
            self._told = True
            yield Fact("run.counts", "episodes", file=self._file)
        yield from self._launches(used, np.where(np.isnan(step), epoch, step), lines)
        steps, axes = self._counter.steps(step, epoch, restarting)
        rows = _RowPlaces(steps, axes, time, lines)
        for shape, cells in zip(used, columns, strict=True):
            self._take(shape, cells, rows)
            shape.clear()
        self._take_scattered(rows)
        self._lines, self._span = [], None
        yield from self._columns.points()

    def _launches(self, shapes: list[Shape], counter: FloatArray, lines: IntArray) -> Iterator[Event]:
        """Where another training begins, as cells of the rows say: of those of one shape, in which each
        shows."""
        for shape in shapes:
            named = [name for name in shape.names if name.lower() in KEYS]
            if not named or self._identity.of not in (None, shape.names):
                continue
            self._identity.of = shape.names
            cells = [shape.column(name) for name in named]
            for at in self._identity.starts(cells, shape.rows_at(), counter):
                yield Event("launch", self._file, int(lines[at]) - 1)  # above the row

    def _take(self, shape: Shape, cells: Mapping[str, FloatArray], rows: _RowPlaces) -> None:
        order = shape.rows_at()
        for name in shape.names:
            if name == shape.place.step:
                continue
            values = cells[name]
            here = np.isfinite(values)
            if name == shape.place.time:  # seconds of the run, not of the world, are a metric
                here &= np.isnan(rows.times[order])
            else:
                gaps = shape.gaps.get(name) or shape.gaps.setdefault(name, Gaps())
                if _all(here):
                    gaps.all_filled(len(values))
                else:
                    here = gaps.filled(shape.column(name), here)
            if _all(here):
                self._add(with_split(name, shape.split), order, values, rows)
            elif here.any():
                self._add(with_split(name, shape.split), order[here], values[here], rows)

    def _take_scattered(self, rows: _RowPlaces) -> None:
        for (name, split), (orders, cells) in self._scattered.cells.items():
            values = numbers_of(cells)
            gaps = self._scattered.gaps.setdefault((name, split), Gaps())
            here = gaps.filled(cells, np.isfinite(values))
            if here.any():
                order = np.array(orders, np.int64)
                self._add(with_split(name, split), order[here], values[here], rows)
        self._scattered.clear()

    def _add(self, metric: str, order: IntArray, values: FloatArray, rows: _RowPlaces) -> None:
        """Adds the values of one metric that stand in the rows `order`, both of shape [n]."""
        for here in rows.at(order):
            whole = here.own is _ALL
            self._columns.add(
                metric,
                order if whole else order[here.own],
                np.ascontiguousarray(values if whole else values[here.own]),
                steps=here.steps,
                times=here.times,
                lines=here.lines,
                axis=here.axis,
            )


def _order_of(shape: Shape, count: int) -> IntArray | slice:
    """Where the rows of a shape stand among `count`."""
    order = shape.rows_at()
    return _ALL if len(order) == count else order


class _Here(NamedTuple):
    """Where some rows of a block stand, arrays of shape [n]; `own` are those of one axis among them."""

    own: slice | NDArray[np.bool_]
    axis: Axis
    steps: IntArray
    times: FloatArray
    lines: IntArray


class _RowPlaces:
    """Where the rows of a block stand, arrays of shape [n]."""

    def __init__(self, steps: IntArray, axes: IntArray, times: FloatArray, lines: IntArray) -> None:
        self.times = times
        self._steps, self._axes, self._lines = steps, axes, lines
        self._order: IntArray | None = None
        self._found: list[_Here] = []

    def at(self, order: IntArray) -> list[_Here]:
        """Where these rows stand, axis by axis. The metrics of one shape ask for the same rows one after the
        other, and get the same arrays, which series share."""
        if order is not self._order:
            self._order, self._found = order, list(self._at(order))
        return self._found

    def _at(self, order: IntArray) -> Iterator[_Here]:
        kinds = self._axes[order]
        if _all(kinds == kinds[0]):
            yield _Here(_ALL, AXES[kinds[0]], self._steps[order], self.times[order], self._lines[order])
            return
        for axis in np.unique(kinds):
            own = kinds == axis
            n = order[own]
            yield _Here(own, AXES[axis], self._steps[n], self.times[n], self._lines[n])
