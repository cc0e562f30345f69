"""A stretch of lines: which of them are read by column, rank by rank, and which one by one between them.

The lines that wait in a rank's lane are read as soon as something asks for what they change: another line of
the rank that is read alone, or the end of the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from hrmdoc.readers.log.formats.base import Silent
from hrmdoc.readers.log.formats.key_value import Measured
from hrmdoc.readers.log.formats.tqdm_bar import ManyRedraws, Redraws
from hrmdoc.readers.log.repeats.columns import Bools, Columns, Ints
from hrmdoc.readers.log.repeats.lane import read_many
from hrmdoc.readers.log.repeats.numbers import Numbers, forms_of
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.readers.log.repeats.prepare import prepare
from hrmdoc.readers.log.repeats.rows import SUB, Rows, joined
from hrmdoc.readers.log.repeats.shapes import Recipe, Shape
from hrmdoc.readers.log.state.cursor import Cursor

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hrmdoc.readers.log.lines.clocks import Clocks
    from hrmdoc.readers.log.lines.stream import Block
    from hrmdoc.readers.log.repeats.layout import Layout

_FEW = 4
"""Lines of one shape, or of one lane, that are as soon read one by one."""

_NO_ROW = 1 << 62
Cursors = dict[int | None, Cursor]


class Lane(Struct):
    """The lines of one rank that wait: `every` group of them, and from which row on none was taken yet."""

    cursor: Cursor
    mode: tuple[Hashable, ...]
    every: list[Rows] = field(default_factory=list)
    come_to: int = 0
    next: int = -1
    """The first row that waits; -1 before the first is taken."""

    def take(self, row: int) -> list[Rows]:
        """The lines before a row of the block that were not taken yet."""
        if row <= self.next:
            return []
        found, behind = [], [_NO_ROW]
        for rows in self.every:
            begin, end = rows.rows.searchsorted((self.come_to, row)).tolist()
            if begin < end:
                found.append(rows.of(slice(begin, end)))
            behind += rows.rows[end : end + 1].tolist()
        self.come_to, self.next = max(self.come_to, row), min(behind)
        return found


class Lanes:
    """The lanes of a stretch of one block.

    Args:
        outlines: of the block.
        above: how many pieces stand before the block.
        cursors: where the ranks are; those of lines that name none are at `rank`.
        clocks: what is known of them.
        alone: reads pieces one by one.
    """

    def __init__(
        self,
        block: Block,
        outlines: Outlines,
        above: int,
        cursors: Cursors,
        rank: int | None,
        clocks: Clocks,
        alone: Callable[[Ints], None],
    ) -> None:
        self._block, self._outlines, self._above = block, outlines, above
        self._cursors, self._rank, self._clocks, self._alone = cursors, rank, clocks, alone
        self._lanes: dict[int | None, Lane] = {}

    def unfit(self, rows: Ints) -> int:
        """How many of some pieces are of shapes that `fill` would leave whatever their numbers are."""
        counts = np.bincount(self._outlines.number[rows])
        numbers = np.flatnonzero(counts)
        every = zip(numbers.tolist(), counts[numbers].tolist(), strict=True)
        return sum(count for number, count in every if not _fits(self._outlines.numbered(number), count))

    def fill(self, rows: Ints) -> Ints:
        """Takes in those of some pieces that can be read by column; gives the others."""
        self._lanes = {}
        if not len(rows):
            return rows
        number = self._outlines.number[rows]
        sort = np.argsort(number, kind="stable")
        ordered = number[sort]
        edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
        left = []
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            own = rows[sort[begin:end]]
            left.append(self._sorted_in(self._outlines.shape(int(own[0])), own))
        return np.sort(joined(left))

    def _sorted_in(self, shape: Shape, rows: Ints) -> Ints:
        """Brings lines of one shape into the lanes; gives those that are left."""
        layout = shape.layout
        if layout is None or not _fits(shape, len(rows)):
            return rows
        base = self._outlines.first[rows]
        if not layout.fixed:
            recipe = shape.recipes.get(())
            return rows if recipe is None else self._alike(shape, recipe, rows, base)
        places: dict[tuple[str, ...], list[int]] = {}
        for place, key in enumerate(self._outlines.keys(base, layout)):
            places.setdefault(key, []).append(place)
        left = []
        for key, at in places.items():
            own = np.array(at, np.int64)
            recipe = shape.recipes.get(key)
            left.append(rows[own] if recipe is None else self._alike(shape, recipe, rows[own], base[own]))
        return joined(left)

    def _alike(self, shape: Shape, recipe: Recipe, rows: Ints, base: Ints) -> Ints:
        """The same for lines that are read alike."""
        many, layout, outlines = recipe.again.many, shape.layout, self._outlines
        if many is None or layout is None or len(rows) < _FEW:
            return rows
        columns = Columns(self._block.data, outlines.raw, outlines.starts, outlines.ends, base)
        lines = self._block.first + (rows if self._block.feeds is None else self._block.feeds[rows])
        every = Rows(many, rows, SUB * (self._above + rows), lines, np.full(len(rows), math.nan))
        fit: Bools | None = np.ones(len(rows), np.bool_)
        if not isinstance(many, Silent):
            fit = self._filled(every, columns, layout, base)
            every.times = every.times + recipe.shift
        if fit is None:
            return rows
        ranks = None
        if layout.rank is not None:
            ranks, digits = columns.whole(layout.rank)
            fit &= digits >= 0
        for rank in [self._rank] if ranks is None else np.unique(ranks).tolist():
            own_rank = np.ones(len(rows), np.bool_) if ranks is None else ranks == rank
            fit &= ~own_rank | self._fits(rank, recipe, every)
            if (chosen := fit & own_rank).any():
                self._lanes[rank].every.append(every.of(chosen))
        shape.used += int(np.count_nonzero(fit))
        return rows[~fit]

    def _filled(self, every: Rows, columns: Columns, layout: Layout, base: Ints) -> Bools | None:
        """Fills in what the reader of such lines asks for, and says of which lines it is known; None where
        they cannot be read at once."""
        outlines, rows = self._outlines, every.rows
        runs = max([0, *(last + 1 for _, last, _, _ in layout.numbers)])
        own = slice(int(base[0]), int(base[0]) + runs)
        bounds = list(zip(outlines.starts[own].tolist(), outlines.ends[own].tolist(), strict=True))
        forms = forms_of(self._block.data, bounds, layout)
        if forms is None:
            return None
        numbers = Numbers(columns, forms, len(rows))
        every.times, exact = columns.times(layout, rows, self._clocks, outlines.piece)
        if layout.text is not None:
            every.texts = np.array(list(outlines.texts(base, rows, layout)), np.object_)
        return numbers.exact & exact if prepare(every, numbers) else None

    def _fits(self, rank: int | None, recipe: Recipe, every: Rows) -> Bools:
        """Which lines of a rank state nothing new of the run."""
        cursor = self._cursors.get(rank)
        if cursor is None or cursor.mode != recipe.mode:
            return np.zeros(len(every), np.bool_)
        if rank not in self._lanes:
            self._lanes[rank] = Lane(cursor, cursor.mode)
        fit = np.ones(len(every), np.bool_)
        if isinstance(every.many, ManyRedraws):
            totals = cursor.of(Redraws).totals
            return fit if not every.values else every.counts["total"] == (totals[1] if totals else -1)
        if isinstance(every.many, Measured) and not every.many.plan.strong:
            return fit
        for key, total in every.placed.totals():
            known = cursor.log.facts.known(key)
            fit &= (total == 0) | (total == (known if isinstance(known, int) else -1))
        return fit

    def catch_up(self, row: int, rank: int | None = None, *, every: bool = False) -> None:
        """Reads what waits before a row of the block: in the lane of a rank, or in all lanes."""
        lanes = self._lanes.values() if every else filter(None, [self._lanes.get(rank)])
        for lane in list(lanes):
            waiting = lane.take(row)
            if not waiting:
                continue
            enough = sum(map(len, waiting)) >= _FEW and lane.cursor.mode == lane.mode
            if enough and read_many(lane.cursor, waiting):
                continue
            self._alone(np.sort(joined(rows.rows for rows in waiting)))

    def finish(self, row: int) -> None:
        """Reads what waits before a row, and leaves all other lines."""
        self.catch_up(row, every=True)
        self._lanes = {}

    def moved(self) -> bool:
        """Whether lines of a rank are not read any more as they were when its lane was filled."""
        return any(lane.cursor.mode != lane.mode for lane in self._lanes.values())

    def clear(self) -> None:
        """Leaves all lines."""
        self._lanes = {}


def _fits(shape: Shape, count: int) -> bool:
    """Whether so many lines of a shape may be read by column."""
    return count >= _FEW and shape.layout is not None and any(r.again.many for r in shape.recipes.values())
