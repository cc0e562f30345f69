"""Which of several trainings the rows of a table are of, where they say so: a model, a data set, a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from hrmdoc.record.records import FloatArray, IntArray

KEYS = frozenset(
    ("model", "model_name", "dataset", "dataset_name", "seed", "fold", "run", "run_id", "run_name", "trial",
     "trial_id", "experiment", "method", "algorithm", "algo", "variant")
)  # fmt: skip


class Identity:
    """Tells where a row is of another training than the row before, whose counter begins anew there: rows of
    several that are written in turn are not told apart.

    Attributes:
        of: the names of the rows that are looked at; None before the first.
    """

    def __init__(self) -> None:
        self.of: tuple[str, ...] | None = None
        self._last: tuple[Any, ...] | None = None
        self._counter = math.nan

    def starts(self, cells: Sequence[Sequence[Any]], order: IntArray, counter: FloatArray) -> Iterator[int]:
        """Numbers of the rows of a block at which another training begins.

        Args:
            cells: the columns that say which it is.
            order: numbers of the rows in which they stand, shape [n].
            counter: steps or epochs of all rows, NaN for none.
        """
        for key, at in zip(zip(*cells, strict=True), order.tolist(), strict=True):
            count = float(counter[at])
            if self._last is not None and key != self._last and count < self._counter:
                yield at
            self._last, self._counter = key, count
