"""Tells a missing cell of a table from one that is not a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.tables.cells import number

_BEFORE = 3


class Gaps:
    """One column of rows that have the same names.

    Strict JSON has no NaN: many writers put `null` there. So a `null` is a NaN where the column has had a
    number in every row so far (three at least); elsewhere the metric was not logged in that row.
    """

    __slots__ = ("_always", "_rows")

    def __init__(self) -> None:
        self._rows = 0
        self._always = True
        """Whether every row so far held a number."""

    def all_filled(self, rows: int) -> None:
        """Takes in rows that all hold a number."""
        self._rows += rows

    def filled(self, cells: Sequence[Any], finite: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the next cells hold a value (NaN among them), shape [n]; `finite`: those that hold a plain
        number."""
        here = finite.copy()
        for at in np.flatnonzero(~finite).tolist():
            cell = cells[at]
            if isinstance(cell, float) or (isinstance(cell, str) and number(cell) is not None):
                here[at] = True
                continue
            here[at] = self._always and cell is None and self._rows + at >= _BEFORE
            self._always = bool(here[at])
        self._rows += len(cells)
        return here
