"""Lines of JSON whose objects have the same keys, decoded straight into columns: numbers never become entries
of a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from hrmdoc.record.records import FloatArray

Column = FloatArray | list[Any]

_REST = 4
"""Blocks that are left to the general way after one that did not fit, so that trying costs little where most
do not."""


class TypedRows:
    """Decodes blocks of lines that are like one row: the same keys, numbers where it has numbers.

    Args:
        row: an object of the file; its cells are numbers, texts, truth values or null.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.names = tuple(row)
        self._numbers = [type(cell) in (int, float) for cell in row.values()]
        kinds = [float if number else Any for number in self._numbers]
        fields = [
            (f"f{at}", kind, msgspec.field(name=name))
            for at, (name, kind) in enumerate(zip(row, kinds, strict=True))
        ]
        struct = msgspec.defstruct("Row", fields, forbid_unknown_fields=True, gc=False)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(struct)
        self._rest = 0

    def columns(self, block: bytes) -> list[Column] | None:
        """The cells of all lines of `block` by column, numbers as arrays; None when a line is of another
        form."""
        if self._rest:
            self._rest -= 1
            return None
        found = self._decoded(block)
        if found is None:
            self._rest = _REST
        return found

    def _decoded(self, block: bytes) -> list[Column] | None:
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
        if all(self._numbers):
            width = len(self.names)
            flat = np.fromiter(
                chain.from_iterable(map(msgspec.structs.astuple, rows)), np.float64, width * count
            )
            return list(np.ascontiguousarray(flat.reshape(count, width).T))
        columns: list[Column] = []
        for at, number in enumerate(self._numbers):
            cells = map(attrgetter(f"f{at}"), rows)
            columns.append(np.fromiter(cells, np.float64, count) if number else list(cells))
        nested = any(
            isinstance(cell, dict) for column in columns if isinstance(column, list) for cell in column
        )
        return None if nested else columns


def _lines_of_objects(block: bytes) -> int:
    """How many lines there are; 0 unless each begins and ends with a brace.

    The decoder takes objects one after another wherever lines end. Flat objects as many as such lines stand
    one in each.
    """
    count = block.count(b"\n")
    whole = block.startswith(b"{") and block.endswith(b"}\n") and block.count(b"}\n{") == count - 1
    return count if whole else 0
