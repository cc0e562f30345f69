"""Lines of one shape and one rank that are read alike: what their reader needs of them, by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hrmdoc.readers.log.formats.base import Many
from hrmdoc.readers.log.repeats.columns import Bools, Floats, Ints
from hrmdoc.readers.log.repeats.numbers import Placed

if TYPE_CHECKING:
    from collections.abc import Iterable

SUB = 1 << 21
"""Places in the log within a line: what it ends comes before what it gives, and of records that waited for it
the first one first; more than a block has lines."""


class Rows(Struct):
    """Some lines, all arrays of shape [lines].

    Attributes:
        many: how they are read.
        rows, order: their numbers in the block, and their places in the log.
        lines, times: where and when they were written.
        values: the columns of the metrics that they show.
        placed: the positions.
        counts: other columns of integers by their names.
        texts: their texts, where they are needed.
    """

    many: Many
    rows: Ints
    order: Ints
    lines: Ints
    times: Floats
    values: list[tuple[str, Floats]] = field(default_factory=list)
    placed: Placed = field(default_factory=Placed)
    counts: dict[str, Ints] = field(default_factory=dict)
    texts: NDArray[np.object_] | None = None

    def of(self, chosen: Bools | slice) -> Rows:
        """Some of them."""
        return Rows(
            self.many,
            self.rows[chosen],
            self.order[chosen],
            self.lines[chosen],
            self.times[chosen],
            [(name, values[chosen]) for name, values in self.values],
            self.placed.of(chosen),
            {name: column[chosen] for name, column in self.counts.items()},
            None if self.texts is None else self.texts[chosen],
        )

    def __len__(self) -> int:
        return len(self.rows)


def joined(every: Iterable[Ints]) -> Ints:
    """Several columns as one."""
    found = list(every)
    return np.concatenate(found) if found else np.empty(0, np.int64)
