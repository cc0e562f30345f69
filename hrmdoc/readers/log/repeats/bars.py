"""Redraws of the bars of one rank, many at once: the last one at each position becomes points."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hrmdoc.readers.log.formats.base import Held, Reading
from hrmdoc.readers.log.formats.tqdm_bar import ManyRedraws, Redraws, TqdmBar, is_slow
from hrmdoc.readers.log.repeats.columns import Bools, Floats, Ints
from hrmdoc.readers.log.repeats.given import Given
from hrmdoc.readers.log.repeats.rows import Rows, joined
from hrmdoc.readers.log.state.cursor import Cursor
from hrmdoc.readers.log.state.sink import Mark


class Bars(Struct):
    """Redraws, by their groups.

    Attributes:
        placed: those that show measures.
        runs: those that may be of the run's bar.
        order, n: places in the log of those that are of it, and what they show; each of shape [redraws].
    """

    cursor: Cursor
    placed: list[Rows]
    runs: list[Rows]
    order: Ints
    n: Ints

    @classmethod
    def of(cls, cursor: Cursor, every: list[Rows]) -> Bars | None:
        """The bars among some lines; None where they must be read one by one."""
        placed = [] if cursor.filed else [rows for rows in every if rows.values]
        if not _alike(cursor, placed):
            return None
        runs = [rows for rows in every if _redraws(rows).drawn.main]
        order, n = joined(rows.order for rows in runs), joined(rows.counts["n"] for rows in runs)
        wanted = cursor.bar.total
        own = joined(rows.counts["total"] for rows in runs) == (-1 if wanted is None else wanted)
        if own.any() and cursor.log.facts.known("run.total_steps") != wanted:
            return None
        sort = np.argsort(order[own], kind="stable")
        return cls(cursor, placed, runs, order[own][sort], n[own][sort])

    def give(self, given: Given, steps: list[Ints]) -> None:
        """Takes the redraws in; `steps` are those of the groups that are placed."""
        if self.runs:
            order = joined(rows.order for rows in self.runs)
            sort = np.argsort(order, kind="stable")
            n, total = (joined(rows.counts[name] for rows in self.runs)[sort] for name in ("n", "total"))
            self.cursor.bar.see_open(n, total)
        if self.placed:
            self._measure(given, steps)

    def _measure(self, given: Given, steps: list[Ints]) -> None:
        redraws, sink = self.cursor.of(Redraws), self.cursor.log.sink
        order = joined(rows.order for rows in self.placed)
        sort = np.argsort(order, kind="stable")
        every = order[sort]
        columns = [joined(steps)[sort]]
        columns += [joined(rows.counts[name] for rows in self.placed)[sort] for name in ("drawn", "total")]
        moves = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        newest = redraws.newest
        if newest is not None and (newest.step, newest.n, newest.total) != tuple(int(c[0]) for c in columns):
            reading = Reading()
            TqdmBar.flush(redraws, reading)
            before, sink.at = sink.at, int(every[0])
            reading.give(sink)
            sink.at = before
        behind = np.empty(len(every), np.int64)
        behind[sort] = np.concatenate((np.where(moves, every[1:], -1), [-1]))
        splits = np.cumsum([len(rows) for rows in self.placed])[:-1]
        last = int(every[-1])
        slow = self._slow(redraws, sort, moves)
        begin = 0
        for rows, at, step in zip(self.placed, np.split(behind, splits), steps, strict=True):
            own = slice(begin, begin + len(rows))
            begin = own.stop
            if int(rows.order[-1]) == last:
                redraws.newest = _held(rows, int(step[-1]), self.cursor)
            _show(given, rows, at, step, {name: shown[own] for name, shown in slow.items()})

    def _slow(self, redraws: Redraws, sort: Ints, moves: Bools) -> dict[str, Bools]:
        """For each measure that changes once an epoch but is drawn always, on which redraws it is given:
        where it is another one than before, see `TqdmBar.flush`."""
        found: dict[str, Bools] = {}
        names = [(at, name) for at, (name, _) in enumerate(self.placed[0].values) if is_slow(name)]
        over = np.flatnonzero(moves) if names else ()
        if not len(over):
            return found
        drawn, total = (
            joined(rows.counts[name] for rows in self.placed)[sort][over] for name in ("drawn", "total")
        )
        for at, name in names:
            values = np.concatenate([rows.values[at][1] for rows in self.placed])[sort][over]
            before = redraws.slow.get(name)
            new = ~_same(values, np.concatenate(([math.nan if before is None else before], values[:-1])))
            new[0] |= before is None
            shown = np.zeros(len(sort), np.bool_)
            shown[sort[over[new | (drawn >= total)]]] = True
            found[name] = shown
            redraws.slow[name] = float(values[-1])
        return found


def _show(given: Given, rows: Rows, at: Ints, step: Ints, slow: dict[str, Bools]) -> None:
    """Gives what redraws show at those places that are not -1; what is `slow` where it is said."""
    drawn, total, values = rows.counts["drawn"], rows.counts["total"], rows.values
    shown = (at >= 0) & ((drawn != 0) | (total <= 1))
    if slow:
        rows.values = [pair for pair in values if pair[0] not in slow]
    given.add(rows.of(shown), at[shown], step[shown], 0)
    for pair in values if slow else ():
        if pair[0] in slow:
            rows.values, shown = [pair], slow[pair[0]]
            given.add(rows.of(shown), at[shown], step[shown], 0)


def _same(values: Floats, others: Floats) -> Bools:
    """Which numbers are written alike."""
    same: Bools = values.view(np.int64) == others.view(np.int64)
    return same | (np.isnan(values) & np.isnan(others))


def _redraws(rows: Rows) -> ManyRedraws:
    assert isinstance(rows.many, ManyRedraws)
    return rows.many


def _alike(cursor: Cursor, placed: list[Rows]) -> bool:
    """Whether all redraws show the same measures, and so does the one before them that stands where the first
    does, since those at one position are one record; and the totals of the one before them."""
    newest = cursor.of(Redraws).newest
    names = {tuple(name for name, _ in rows.values) for rows in placed}
    if newest is not None and placed:
        first = min(placed, key=lambda rows: int(rows.order[0])).counts
        if (newest.n, newest.total) == (int(first["drawn"][0]), int(first["total"][0])):
            names.add(tuple(name for name, _ in newest.values))
    once = all(len(set(own)) == len(own) for own in names)
    return once and len(names) <= 1 and all(_same_totals(cursor, rows) for rows in placed)


def _held(rows: Rows, step: int, cursor: Cursor) -> Held:
    """The newest redraw, which waits for the next one."""
    values = [(name, float(values[-1])) for name, values in rows.values]
    mark = Mark(int(rows.lines[-1]), float(rows.times[-1]), cursor.rank)
    drawn, total = (int(rows.counts[name][-1]) for name in ("drawn", "total"))
    return Held(values, step, "step", mark, drawn, total)


def _same_totals(cursor: Cursor, rows: Rows) -> bool:
    """Whether redraws state what the one before them did."""
    totals = cursor.of(Redraws).totals
    if totals is None:
        return False
    epochs, total = totals
    if not np.all(rows.counts["total"] == total):
        return False
    return rows.placed.epochs is None if epochs is None else bool(np.all(rows.placed.epochs == epochs))
