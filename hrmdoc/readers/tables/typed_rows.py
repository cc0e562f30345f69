"""Lines of JSON whose objects have the same keys, decoded straight into columns: numbers never become entries
of a mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hrmdoc.record.records import FloatArray, IntArray

Column = FloatArray | list[Any]

_OPEN, _CLOSE, _LINE_END = b"{}\n"
_REST = 4
"""Blocks that are left to the general way after one that did not fit, so that trying costs little where most
do not."""


_MOST_PARTS = 16
"""Of more sets of keys in one block the rows are taken one by one."""
_MOST_NAMES = 60
"""Keys of rows that need not have all of them: which they have is told by the bits of a number."""


class Part(NamedTuple):
    """The rows of a block that have the same keys: their cells by name, numbers as arrays, and where they
    stand in it."""

    columns: Mapping[str, Column]
    order: IntArray


class TypedRows:
    """Decodes blocks of lines that are like one row: the same keys, numbers where it has numbers.

    Args:
        row: an object of the file; its cells are numbers, texts, truth values or null.
        partial: rows may lack any of its keys; see `may_be_partial`.
    """

    def __init__(self, row: Mapping[str, Any], *, partial: bool = False) -> None:
        self.names = tuple(row)
        self.partial = partial
        self._numbers = [type(cell) in (int, float) for cell in row.values()]
        self.all_numbers = all(self._numbers)
        kinds = [float if number else Any for number in self._numbers]
        absent = {"default": math.nan} if partial else {}
        fields = [
            (f"f{at}", kind, msgspec.field(name=name, **absent))
            for at, (name, kind) in enumerate(zip(row, kinds, strict=True))
        ]
        struct = msgspec.defstruct("Row", fields, forbid_unknown_fields=True, gc=False)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(struct)
        self._rest = 0

    def columns(self, block: bytes) -> list[Part] | None:
        """The cells of all lines of `block` by column; None when a line is of another form."""
        if self._rest:
            self._rest -= 1
            return None
        found = self._decoded(block)
        if found is None:
            self._rest = _REST
        return found

    def _decoded(self, block: bytes) -> list[Part] | None:
        lines = _lines_of_objects(block)
        if not lines:
            return None
        try:
            rows = self._decoder.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        count = len(rows)
        if count != lines:
            return None
        if self.all_numbers:
            width = len(self.names)
            flat = np.fromiter(
                chain.from_iterable(map(msgspec.structs.astuple, rows)), np.float64, width * count
            )
            return self._parts(np.ascontiguousarray(flat.reshape(count, width).T))
        columns: list[Column] = []
        for at, number in enumerate(self._numbers):
            cells = map(attrgetter(f"f{at}"), rows)
            columns.append(np.fromiter(cells, np.float64, count) if number else list(cells))
        nested = any(
            isinstance(cell, dict) for column in columns if isinstance(column, list) for cell in column
        )
        whole = dict(zip(self.names, columns, strict=True))
        return None if nested else [Part(whole, np.arange(count))]

    def _parts(self, cells: FloatArray) -> list[Part] | None:
        """Cells of shape [columns, rows] by the keys that rows have, in the order in which those came first.
        JSON has no NaN: it is what a row lacks."""
        lacking = np.isnan(cells) if self.partial else np.zeros((0, 0), np.bool_)
        if not lacking.any():
            return [Part(dict(zip(self.names, cells, strict=True)), np.arange(cells.shape[1]))]
        codes = (1 << np.arange(len(cells))) @ lacking
        parts: list[Part] = []
        left = np.ones(len(codes), np.bool_)
        while left.any():
            if len(parts) == _MOST_PARTS:
                return None
            first = int(np.argmax(left))
            own = codes == codes[first]
            left &= ~own
            order = np.flatnonzero(own)
            there = np.flatnonzero(~lacking[:, first]).tolist()
            parts.append(Part({self.names[at]: cells[at, order] for at in there}, order))
        return parts


def may_be_partial(row: Mapping[str, Any]) -> bool:
    """Whether rows that have some keys of `row` alone can be decoded: where all its cells are numbers."""
    return len(row) <= _MOST_NAMES and all(type(cell) in (int, float) for cell in row.values())


def _lines_of_objects(block: bytes) -> int:
    """How many lines there are; 0 unless each begins and ends with a brace.

    The decoder takes objects one after another wherever lines end. Flat objects as many as such lines stand
    one in each.
    """
    signs = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(signs == _LINE_END)
    if not len(ends) or ends[0] == 0 or ends[-1] != len(signs) - 1 or signs[0] != _OPEN:
        return 0
    whole = (signs[ends - 1] == _CLOSE).all() and (signs[ends[:-1] + 1] == _OPEN).all()
    return len(ends) if whole else 0
