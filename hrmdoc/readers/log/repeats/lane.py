"""The lines of one rank that are read by column, in order: whether they may be, and what they give.

What one line changes for those behind it is worked out for all at once: the step that the log has come to,
the newest redraw of a bar, the records that wait for one. Where that cannot be said of some lines, they are
read one by one, and nothing is changed before that is known.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.readers.log.formats.base import Many, Silent
from hrmdoc.readers.log.formats.keras_bar import EpochRedraws
from hrmdoc.readers.log.formats.key_value import Below, KeyValue, Measured
from hrmdoc.readers.log.formats.python_dict import Mappings
from hrmdoc.readers.log.formats.tqdm_bar import ManyRedraws
from hrmdoc.readers.log.grammar.position import NONE, Positions
from hrmdoc.readers.log.moments import Told
from hrmdoc.readers.log.repeats.bars import Bars
from hrmdoc.readers.log.repeats.columns import Bools, Ints
from hrmdoc.readers.log.repeats.epoch_bars import draw
from hrmdoc.readers.log.repeats.given import Given
from hrmdoc.readers.log.repeats.mappings import Records
from hrmdoc.readers.log.repeats.numbers import or_none
from hrmdoc.readers.log.repeats.rows import Rows, joined
from hrmdoc.readers.log.state.cursor import Cursor
from hrmdoc.readers.log.state.epoch_lines import EpochLines
from hrmdoc.record.records import Axis, Event

_DETAIL = 300


def read_many(cursor: Cursor, every: list[Rows]) -> bool:
    """Reads lines of one rank, in whatever order their groups stand; False where they must be read one by
    one, and nothing has happened."""
    every = [rows for rows in every if not isinstance(rows.many, Silent)]
    if not every:
        return True
    given, drawn = Given(cursor.rank), _of(every, EpochRedraws)
    if not drawn:
        done = _read(cursor, every, given)
    else:
        done = len(drawn) == len(every) and draw(cursor, drawn, given)
    given.give(cursor)
    return done


def _read(cursor: Cursor, every: list[Rows], given: Given) -> bool:
    """The same for lines that are no bars of epochs."""
    bars = Bars.of(cursor, _of(every, ManyRedraws))
    records = Records.of(cursor, _of(every, Mappings), bars)
    if bars is None or records is None:
        return False
    spoken = [rows for rows in _of(every, Measured) if _gives(rows)]
    moving = [*spoken, *bars.placed]
    if not all(_believed(cursor, rows) for rows in spoken) or not _may_move(cursor, moving, records):
        return False
    if not _apart(cursor, moving):
        return False
    placed = _moved(cursor, moving)
    come_to = cursor.flow.step
    for rows, (steps, axis) in zip(spoken, placed, strict=False):
        given.add(rows, rows.order, steps, 1, axis)
    bars.give(given, [steps for steps, _ in placed[len(spoken) :]])
    records.give(given)
    last = max((int(rows.order[-1]) for rows in moving), default=-1)
    cursor.flow.step = int(records.steps[-1]) if np.any(records.order > last) else come_to
    for rows in _of(every, Told):
        _tell(cursor, rows)
    return True


def _of(every: list[Rows], kind: type[Many]) -> list[Rows]:
    """Those that are read in one way."""
    return [rows for rows in every if isinstance(rows.many, kind)]


def _gives(rows: Rows) -> bool:
    """Whether lines give anything: a measure of no known kind beside no position gives nothing."""
    assert isinstance(rows.many, Measured)
    placed = rows.placed
    return placed.step is not None or placed.epoch is not None or rows.many.plan.strong or rows.many.alarming


def _believed(cursor: Cursor, rows: Rows) -> bool:
    """Whether such lines give their values at once, each at its place."""
    assert isinstance(rows.many, Measured)
    plan, silent = rows.many.plan, _silent(rows)
    if rows.many.alarming if silent else plan.strong:
        return True
    if not cursor.log.format(KeyValue).often(cursor.rank, plan):
        return False
    return not (silent and cursor.of(Below).left and len(rows.values) == 1)


def _positions(every: list[Rows]) -> tuple[Positions, Ints]:
    """The positions of lines in order, and that order."""
    order = joined(rows.order for rows in every)
    sort = np.argsort(order, kind="stable")
    columns = [
        joined(or_none(column, len(rows)) for rows in every for column in [getattr(rows.placed, name)])[sort]
        for name in ("epoch", "step", "total")
    ]
    restarts = joined(
        np.full(len(rows), NONE if rows.placed.restarts is None else int(rows.placed.restarts))
        for rows in every
    )
    epoch, step, total = columns
    return Positions(epoch, step, total, restarts[sort]), sort


def _may_move(cursor: Cursor, every: list[Rows], records: Records) -> bool:
    """Whether the place of every line can be told: it has a step, or one that a line before it showed, or
    lines of its epoch count the steps, or stand for it."""
    stepless = [rows for rows in every if rows.placed.step is None]
    lines = cursor.of(EpochLines)
    if every and records.stays:
        return False
    if lines.waits and (cursor.flow.step is not None or len(stepless) < len(every)):
        return False  # what waits for its like stands at the first step
    if not stepless:
        return True
    if len(records.steps):
        return False
    if not any(map(_of_epoch, stepless)) and cursor.flow.epoch is None and _steps_first(every, stepless):
        return True
    return cursor.flow.step is not None or all(lines.often(_shape(rows)) for rows in stepless)


def _apart(cursor: Cursor, every: list[Rows]) -> bool:
    """Calls the measures of epochs as lines one by one are called; False where a line among these is the
    first to show that they are measured in steps, too."""
    lines = cursor.of(EpochLines)
    of_epochs = [rows for rows in every if _of_epoch(rows) and _shape(rows) != lines.counting]
    names = {name for rows in of_epochs for name, _ in rows.values}
    stepped = [rows for rows in every if rows.placed.step is not None]
    if any(name in names and name not in lines.stepped for rows in stepped for name, _ in rows.values):
        return False
    for rows in stepped:
        lines.step(rows.values)
    if cursor.flow.step is not None:
        for rows in of_epochs:
            rows.values = lines.of_epoch(rows.values)
    return True


def _steps_first(every: list[Rows], silent: list[Rows]) -> bool:
    """Whether a line with a step stands before the first one without, or there is none."""
    if len(silent) == len(every):
        return True
    first = min(int(rows.order[0]) for rows in every if rows.placed.step is not None)
    return first < min(int(rows.order[0]) for rows in silent)


def _of_epoch(rows: Rows) -> bool:
    """Whether lines show an epoch and no step."""
    return rows.placed.step is None and rows.placed.epoch is not None


def _silent(rows: Rows) -> bool:
    """Whether lines show no place at all."""
    return rows.placed.step is None and rows.placed.epoch is None


def _shape(rows: Rows) -> tuple[str, ...]:
    assert isinstance(rows.many, Measured)
    return rows.many.plan.shape


def _moved(cursor: Cursor, every: list[Rows]) -> list[tuple[Ints, Axis]]:
    """The steps of lines, by group, and what they count; the log has come to that of the last one."""
    if not every:
        return []
    positions, sort = _positions(every)
    back, of_epoch = np.empty(len(sort), np.int64), np.empty(len(sort), np.bool_)
    back[sort], of_epoch[sort] = _steps(cursor, every, positions, sort)
    starts = np.cumsum([0, *map(len, every)])[:-1]
    axes: list[Axis] = ["epoch" if of_epoch[start] else "step" for start in starts]
    return list(zip(np.split(back, starts[1:]), axes, strict=True))


def _steps(cursor: Cursor, every: list[Rows], positions: Positions, sort: Ints) -> tuple[Ints, Bools]:
    """The steps of all lines in order, and which of them are epochs."""
    flow, lines = cursor.flow, cursor.of(EpochLines)
    keeping = [rows.placed.step is None and lines.keeps(_shape(rows), silent=_silent(rows)) for rows in every]
    counts = [keeps and _shape(rows) == lines.counting for keeps, rows in zip(keeping, every, strict=True)]
    no_epochs = np.zeros(len(sort), np.bool_)
    if all(counts) and flow.step is not None:
        return flow.count(positions.epoch), no_epochs
    if any(keeping) or any(map(_of_epoch, every)) or (flow.step is None and flow.epoch is not None):
        each = (np.repeat(of, [*map(len, every)])[sort] for of in (counts, keeping))
        return flow.place_each(positions, *each)
    if flow.step is None and flow.epoch is None and (positions.step == NONE).all():
        return positions.step, no_epochs
    return flow.place_all(positions), no_epochs


def _tell(cursor: Cursor, rows: Rows) -> None:
    """The events that lines report."""
    assert isinstance(rows.many, Told)
    assert rows.placed.step is not None
    assert rows.texts is not None
    sink, kind = cursor.log.sink, rows.many.kind
    columns = (rows.order, rows.lines, rows.placed.step, rows.times)
    for at, line, step, time, text in zip(*(column.tolist() for column in columns), rows.texts, strict=True):
        sink.record(Event(kind, sink.file, line, step, time, cursor.rank, text.strip()[:_DETAIL]), at)
