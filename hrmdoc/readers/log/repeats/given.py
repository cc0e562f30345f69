"""Points that are read by column, in the order of the log."""

from __future__ import annotations

from hrmdoc.readers.log.repeats.columns import Ints
from hrmdoc.readers.log.repeats.rows import Rows
from hrmdoc.readers.log.state.cursor import Cursor
from hrmdoc.readers.log.state.sink import Piece
from hrmdoc.record.records import Axis


class Given:
    """Points of many lines, handed over in the order of the log."""

    def __init__(self, rank: int | None) -> None:
        self._rank = rank
        self._found: list[tuple[int, int, str, Piece, Axis, int]] = []

    def add(self, rows: Rows, order: Ints, steps: Ints, precision: int, axis: Axis = "step") -> None:
        """Adds the values of some lines, which are given at some places of the log."""
        if len(order):
            for name, values in rows.values:
                piece = Piece(order, steps, values, rows.times, rows.lines)
                self._found.append((int(order[0]), len(self._found), name, piece, axis, precision))

    def give(self, cursor: Cursor) -> None:
        """Hands them over."""
        for _, _, name, piece, axis, precision in sorted(self._found, key=lambda found: found[:2]):
            cursor.log.sink.many(name, self._rank, piece, axis, precision)
