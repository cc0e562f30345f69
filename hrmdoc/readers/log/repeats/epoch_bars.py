"""Redraws of the bars of epochs of one rank, many at once: the last one of an epoch becomes points."""

from __future__ import annotations

import numpy as np

from hrmdoc.readers.log.formats.base import Held, Reading
from hrmdoc.readers.log.formats.keras_bar import EpochBars, KerasBar
from hrmdoc.readers.log.repeats.given import Given
from hrmdoc.readers.log.repeats.rows import Rows, joined
from hrmdoc.readers.log.state.cursor import Cursor
from hrmdoc.readers.log.state.sink import Mark


def draw(cursor: Cursor, every: list[Rows], given: Given) -> bool:
    """Takes redraws of a named epoch in; False, and nothing has happened, where no line has named it."""
    epoch = cursor.flow.epoch
    if epoch is None:
        return False
    order, n, total = (
        joined(columns)
        for columns in (
            (rows.order for rows in every),
            (rows.counts["n"] for rows in every),
            (rows.counts["total"] for rows in every),
        )
    )
    if any(map(cursor.of(EpochBars).evaluates, np.unique(total).tolist())):
        return False
    sort = np.argsort(order, kind="stable")
    first, last = int(sort[0]), int(sort[-1])
    fell = np.flatnonzero(n[sort][1:] < n[sort][:-1])
    over = np.full(len(order), -1)
    over[sort[fell]] = order[sort[fell + 1]]
    bars, sink, at = cursor.of(EpochBars), cursor.log.sink, 0
    before, reading = bars.newest, Reading()
    if before is not None:
        held = Held([], epoch, "epoch", before.mark, int(n[first]), int(total[first]))
        cursor.log.format(KerasBar).hold(bars, held, reading)
        came, sink.at = sink.at, int(order[first])
        reading.give(sink)
        sink.at = came
    for rows in every:
        own = over[at : at + len(rows)]
        given.add(rows.of(own >= 0), own[own >= 0], np.full(np.count_nonzero(own >= 0), epoch), 1, "epoch")
        if at <= last < at + len(rows):
            values = [(name, float(values[last - at])) for name, values in rows.values]
            mark = Mark(int(rows.lines[last - at]), float(rows.times[last - at]), cursor.rank)
            bars.newest = Held(values, epoch, "epoch", mark, int(n[last]), int(total[last]))
        at += len(rows)
    cursor.flow.open = True
    return True
