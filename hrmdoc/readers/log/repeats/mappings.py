"""Printed mappings of one rank, many at once: each at the step that it shows, that its epoch gives, or that
the run's bar shows when it is drawn again."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hrmdoc.readers.log.formats.base import Reading
from hrmdoc.readers.log.formats.python_dict import Closed, Mappings, PythonDict
from hrmdoc.readers.log.grammar.mapping import Mapping, mapping_from
from hrmdoc.readers.log.repeats.bars import Bars
from hrmdoc.readers.log.repeats.columns import Floats, Ints
from hrmdoc.readers.log.repeats.given import Given
from hrmdoc.readers.log.repeats.rows import SUB, Rows, joined
from hrmdoc.readers.log.state.cursor import Cursor
from hrmdoc.readers.log.state.sink import NO_STEP, Mark
from hrmdoc.readers.log.state.waiting import Waiting


class Group(Struct):
    """Mappings of one set of keys: the lines, one of them as it is read alone, and where and at which step
    each is given; -1 for one that goes on waiting.

    Attributes:
        guessed: no line shows the step.
        stays: it is the one that the log has come to before these lines.
    """

    rows: Rows
    mapping: Mapping
    order: Ints
    steps: Ints
    guessed: bool = False
    stays: bool = False


class Records(Struct):
    """The mappings among some lines.

    Attributes:
        order, steps: where in the log the step moves on to which, each of shape [moves].
        flush, flush_step: where those that waited before are given, -1 for nowhere, and at which step.
    """

    cursor: Cursor
    groups: list[Group]
    order: Ints
    steps: Ints
    flush: int = -1
    flush_step: int = 0

    @classmethod
    def of(cls, cursor: Cursor, every: list[Rows], bars: Bars | None) -> Records | None:
        """The records among some lines; None where they must be read one by one."""
        if bars is None or cursor.of(Waiting).late or cursor.bar.passed or _begins_again(cursor, every):
            return None
        groups = [Group(rows, _sample(rows), rows.order, np.empty(0, np.int64)) for rows in every]
        waiting = cursor.of(Waiting).records
        if groups and not _place(cursor, groups, waiting, bars):
            return None
        found = cls(cursor, groups, *_moves(groups))
        if waiting and len(bars.order):
            found.flush, found.flush_step = int(bars.order[0]) + 1, int(bars.n[0])
            found.order = np.concatenate(([found.flush], found.order))
            found.steps = np.concatenate(([found.flush_step], found.steps))
        return found

    @property
    def stays(self) -> bool:
        """Whether records are given at the step that the log has come to, which nothing may move."""
        return any(group.stays for group in self.groups)

    def give(self, given: Given) -> None:
        """Gives the records whose places are known; the others wait."""
        cursor, waiting = self.cursor, self.cursor.of(Waiting).records
        if self.flush >= 0:
            reading, sink = Reading(), cursor.log.sink
            cursor.log.format(PythonDict).emit_waiting(cursor, self.flush_step, reading)
            before, sink.at = sink.at, self.flush
            reading.give(sink)
            sink.at = before
        left: list[tuple[int, Mapping, Mark]] = []
        for group in self.groups:
            known = group.order >= 0
            rows = group.rows.of(known)
            rows.values = [pair for pair in rows.values if pair[0] not in group.mapping.shape.other]
            given.add(rows, group.order[known], group.steps[known], 0 if group.mapping.quoted else 1)
            left += _left(group.rows.of(~known), cursor.rank)
        waiting += [(mapping, mark) for _, mapping, mark in sorted(left, key=lambda one: one[0])]
        self._learn_length()

    def _learn_length(self) -> None:
        """How many steps an epoch has, by the newest record that shows both."""
        newest = -1
        for group in self.groups:
            epochs = dict(group.rows.values).get("epoch")
            if epochs is None or group.guessed:
                continue
            shown = np.flatnonzero((group.order >= 0) & (epochs != 0))
            if len(shown) and int(group.rows.order[shown[-1]]) > newest:
                newest = int(group.rows.order[shown[-1]])
                self.cursor.steps_per_epoch = int(group.steps[shown[-1]]) / float(epochs[shown[-1]])


def _begins_again(cursor: Cursor, every: list[Rows]) -> bool:
    """Whether one of the records is of a training behind the summary of another."""
    closed = cursor.of(Closed).epoch
    epochs = [dict(rows.values).get("epoch") for rows in every]
    return closed is not None and any(of is not None and bool((of < closed).any()) for of in epochs)


def _mapping(rows: Rows, at: int) -> Mapping:
    """One of the mappings, as it is read alone."""
    assert isinstance(rows.many, Mappings)
    shown = dict(rows.values)
    numbers = [
        repr(float(shown[key][at])) if key in shown else str(int(_steps(rows)[at])) for key in rows.many.keys
    ]
    return mapping_from(rows.many.keys, numbers, quoted=rows.many.quoted)


def _steps(rows: Rows) -> Ints:
    assert rows.placed.step is not None
    return rows.placed.step


def _sample(rows: Rows) -> Mapping:
    return _mapping(rows, 0)


def _believed(cursor: Cursor, mapping: Mapping) -> bool:
    """Whether such mappings are records, whatever came before."""
    placed = mapping.step is not None or (mapping.epoch is not None and len(mapping.values) > 1)
    return placed or mapping.shape.certain or cursor.log.format(PythonDict).believed(mapping)


def _place(cursor: Cursor, groups: list[Group], waiting: list[tuple[Mapping, Mark]], bars: Bars) -> bool:
    """Finds the steps of records; False where each needs a look of its own."""
    if not all(_believed(cursor, group.mapping) for group in groups):
        return False
    shown = [group for group in groups if group.rows.placed.step is not None]
    for group in shown:
        group.steps = _steps(group.rows)
    if shown:
        return len(shown) == len(groups) and not waiting
    if cursor.bar.complete:
        alone = not waiting and not cursor.bar.may_open and not bars.runs
        return alone and _guessed(cursor, groups)
    first = min(int(group.rows.order[0]) for group in groups)
    for group in groups:
        _await(group, bars, first)
    return _single(groups, waiting, bars)


def _guessed(cursor: Cursor, groups: list[Group]) -> bool:
    """Whether the steps of all records can be told so, and none moves the one at which others are given."""
    return all(_guess(cursor, group) for group in groups) and _stay(groups)


def _guess(cursor: Cursor, group: Group) -> bool:
    """Whether the steps of records can be told that no bar follows."""
    group.guessed = True
    epochs: Floats | None = dict(group.rows.values).get("epoch")
    if epochs is not None and cursor.steps_per_epoch:
        found = np.rint(epochs * cursor.steps_per_epoch)
        if not (np.abs(found) < 1e15).all():
            return False
        group.steps = found.astype(np.int64)
    elif cursor.bar.n is not None:
        group.steps = np.full(len(group.rows), cursor.bar.n)
    else:
        group.stays = epochs is None or group.mapping.shape.evaluation
        step = cursor.flow.step if group.stays else None
        group.steps = np.full(len(group.rows), NO_STEP if step is None else step)
    return True


def _stay(groups: list[Group]) -> bool:
    """Whether no record moves the step at which others of these are given."""
    moving = [group for group in groups if not group.stays and (group.steps != NO_STEP).any()]
    return not moving or not any(group.stays for group in groups)


def _await(group: Group, bars: Bars, first: int) -> None:
    """Places records at the next redraw of the run's bar, in their own order, which begins at `first`."""
    place = np.searchsorted(bars.order, group.rows.order)
    known = place < len(bars.order)
    at = np.where(known, place, 0)
    if not len(bars.order):
        group.order, group.steps = np.full(len(place), -1), np.zeros(len(place), np.int64)
        return
    behind = 2 + (group.rows.order - first) // SUB
    group.order, group.steps = np.where(known, bars.order[at] + behind, -1), bars.n[at]


def _single(groups: list[Group], waiting: list[tuple[Mapping, Mark]], bars: Bars) -> bool:
    """Whether no two records of training wait for the same redraw, nor any of different epochs: those came
    together, and none belongs where the bar is drawn."""
    order = np.sort(joined(group.rows.order for group in groups if not group.mapping.shape.evaluation))
    places = np.searchsorted(bars.order, order)
    if any(not mapping.shape.evaluation for mapping, _ in waiting):
        places = np.concatenate(([0], places))
    return bool((places[1:] != places[:-1]).all()) and _of_one_epoch(groups, waiting, bars)


def _of_one_epoch(groups: list[Group], waiting: list[tuple[Mapping, Mark]], bars: Bars) -> bool:
    """Whether all records that wait for the same redraw show the same epoch."""
    known = [mapping.epoch for mapping, _ in waiting if mapping.epoch is not None]
    places, epochs = [np.zeros(len(known), np.int64)], [np.array(known)]
    for group in groups:
        shown = dict(group.rows.values).get("epoch")
        if shown is not None:
            places.append(np.searchsorted(bars.order, group.rows.order))
            epochs.append(shown)
    place, epoch = np.concatenate(places), np.concatenate(epochs)
    sort = np.argsort(place, kind="stable")
    same = place[sort][1:] == place[sort][:-1]
    return bool((epoch[sort][1:] == epoch[sort][:-1])[same].all())


def _moves(groups: list[Group]) -> tuple[Ints, Ints]:
    """Where the log comes to which step."""
    order = joined(group.order for group in groups)
    steps = joined(group.steps for group in groups)
    moving = (order >= 0) & (steps != NO_STEP)
    sort = np.argsort(order[moving], kind="stable")
    return order[moving][sort], steps[moving][sort]


def _left(rows: Rows, rank: int | None) -> list[tuple[int, Mapping, Mark]]:
    """The records that go on waiting."""
    return [
        (int(rows.order[at]), _mapping(rows, at), Mark(int(rows.lines[at]), float(rows.times[at]), rank))
        for at in range(len(rows))
    ]
