"""Rows of a table by the names that they have, and their cells as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hrmdoc.readers.tables.cells import SECONDS, number, unix_time
from hrmdoc.readers.tables.gaps import Gaps
from hrmdoc.readers.tables.keys import RESTARTING, SPLIT_KEYS, Places, places
from hrmdoc.readers.tables.typed_rows import Column
from hrmdoc.record.records import FloatArray, IntArray


class Names:
    """What one set of names says: where the counters are, and which cells may name the part of the data."""

    __slots__ = ("names", "place", "split_keys")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.place: Places = places(names)
        self.split_keys = tuple(key for key in SPLIT_KEYS if key in names)


class Shape:
    """Rows of one set of names and one part of the data in the block at hand: as mappings, or as columns."""

    __slots__ = ("alike", "at", "columns", "gaps", "names", "order", "place", "rows", "split")

    def __init__(self, names: Names, split: str) -> None:
        self.names = names.names
        self.split = split
        self.place = names.place
        self.gaps: dict[str, Gaps] = {}
        self.clear()

    def clear(self) -> None:
        """Forgets all rows."""
        self.order: list[int] = []
        self.at: IntArray | None = None
        """Where the rows of `columns` stand, in the place of `order`."""
        self.rows: list[dict[str, Any]] = []
        self.columns: Sequence[Column] = ()
        self.alike = True
        """Whether all rows have their names in the same order."""

    @property
    def used(self) -> bool:
        """Whether there are rows of it in the block at hand."""
        return bool(self.order) or self.at is not None

    def rows_at(self) -> IntArray:
        """Where its rows stand among all, shape [n]."""
        return np.array(self.order, np.int64) if self.at is None else self.at

    def column(self, name: str) -> list[Any]:
        """The cells of one column as they were written."""
        if self.columns:
            return list(self.columns[self.names.index(name)])
        return [row[name] for row in self.rows]


class Scattered:
    """Rows of many shapes in the block at hand, cell by cell."""

    __slots__ = ("cells", "counters", "gaps")

    def __init__(self) -> None:
        self.gaps: dict[tuple[str, str], Gaps] = {}
        self.clear()

    def clear(self) -> None:
        """Forgets all rows."""
        self.cells: dict[tuple[str, str], tuple[list[int], list[Any]]] = {}
        """By name and part of the data: in which rows the cells stand, and the cells."""
        self.counters: list[tuple[int, Any, Any, float, bool]] = []
        """Of each row its number, step, epoch, Unix time, and whether the step may restart."""

    def add(self, row: Mapping[str, Any], split: str, order: int) -> None:
        """Takes one row in."""
        place = places(row)
        time = unix_time(row[place.time]) if place.time is not None else np.nan
        step = row[place.step] if place.step is not None else None
        epoch = row[place.epoch] if place.epoch is not None else None
        self.counters.append((order, step, epoch, time, place.step in RESTARTING))
        for name, cell in row.items():
            if name == place.step or (name == place.time and time == time):
                continue
            orders, cells = self.cells.setdefault((name, split), ([], []))
            orders.append(order)
            cells.append(cell)


def columns_of(shape: Shape) -> dict[str, FloatArray]:
    """The cells as numbers, name -> shape [n]; NaN for what is missing or no number."""
    if shape.columns:
        return {name: numbers_of(column) for name, column in zip(shape.names, shape.columns, strict=True)}
    width = len(shape.names)
    try:
        if not shape.alike:
            raise TypeError
        flat = np.fromiter(
            chain.from_iterable(map(dict.values, shape.rows)), np.float64, width * len(shape.rows)
        )
        matrix = np.ascontiguousarray(flat.reshape(-1, width).T)
        return {name: matrix[at] for at, name in enumerate(shape.names)}
    except (ValueError, TypeError, OverflowError):
        return {name: numbers_of(shape.column(name)) for name in shape.names}


def numbers_of(column: Column | Sequence[Any]) -> FloatArray:
    """Cells as numbers, shape [n]."""
    if isinstance(column, np.ndarray):
        return column
    try:
        found = np.array(column, np.float64)
    except (ValueError, TypeError, OverflowError):
        found = np.array([np.nan if (value := number(cell)) is None else value for cell in column])
    if found.ndim == 2 and found.shape[1] == 1:  # numbers in lists of one
        return found.ravel()
    return found if found.ndim == 1 else np.full(len(column), np.nan)


def times_of(shape: Shape, cells: FloatArray) -> FloatArray:
    """Unix seconds of every row, shape [n]; `cells` is the column of the clock as numbers."""
    if ((cells > SECONDS[0]) & (cells < SECONDS[1])).all():
        return cells
    return np.array([unix_time(cell) for cell in shape.column(shape.place.time or "")])
