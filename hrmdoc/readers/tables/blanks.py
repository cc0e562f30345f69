"""Cells that say NaN where a row has no such metric: numpy's savetxt and pandas with `na_rep` write rows of
training and of evaluation below one header, and NaN into the columns of the other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.tables.keys import split_named
from hrmdoc.text import patterns

MOST_COLUMNS = 64
LONGEST_WAIT = 50
"""Rows for which a NaN is kept back whose column was never filled."""
_WORDS = patterns.lazy(r"[a-z]+", re.IGNORECASE)

Mask = NDArray[np.bool_]


class Blanks:
    """Tells the cells of a table that only say that their row is another's, row by row.

    Two columns, one of them of held-out data by its name, part the rows among them when each says NaN where
    the other has a number, and no row has both. Until a column has its first number its NaNs wait for it. A
    table that leaves cells empty says so where nothing was measured, and its NaNs are values.

    Args:
        names: the columns.
        metrics: those among them that hold metrics.
    """

    def __init__(self, names: Sequence[str], metrics: Sequence[int]) -> None:
        side = np.array([any(map(split_named, _WORDS.findall(name))) for name in names], np.bool_)
        self._across = side[:, None] != side[None, :]
        self._metrics = np.isin(np.arange(len(names)), metrics)
        self._open = bool(self._across[np.ix_(metrics, metrics)].any()) and len(names) <= MOST_COLUMNS
        self._together = np.zeros(self._across.shape, np.bool_)
        self._apart = np.zeros(self._across.shape, np.bool_)
        self._been = np.zeros(len(names), np.bool_)
        self._whole = False
        """Whether a row had all metrics: the next ones like it tell nothing new."""
        self._waiting = np.zeros(len(names), np.int64)

    def see(self, filled: Mask, nans: Mask) -> tuple[Mask, Mask, list[tuple[int, int, bool]]]:
        """Takes in the next rows: which of their cells are `filled` with numbers and which say NaN, shape
        [n, columns].

        Returns:
            The NaNs that are values; those that wait; and in which row which column ends the wait of all its
            NaNs before, and whether they are values.
        """
        values, waits = nans.copy(), np.zeros_like(nans)
        ends: list[tuple[int, int, bool]] = []
        if not self._open:
            return values, waits, ends
        whole: Mask = np.logical_and.reduce(filled | ~self._metrics, axis=1)
        gaps = np.append(np.flatnonzero(~whole), len(filled)).tolist()
        row = 0
        while self._open and row < len(filled):
            if whole[row] and self._whole and not self._waiting.any():
                row = gaps[bisect_left(gaps, row)]
                continue
            ends += self._row(row, filled[row] & self._metrics, nans[row] & self._metrics, values, waits)
            row += 1
        return values, waits, ends

    def _row(
        self, row: int, filled: Mask, nans: Mask, values: Mask, waits: Mask
    ) -> list[tuple[int, int, bool]]:
        if (self._metrics & ~filled & ~nans).any():
            self._open = False
            return [(row, at, True) for at in np.flatnonzero(self._waiting).tolist()]
        self._whole |= not nans.any()
        self._together[np.ix_(filled, filled)] = True
        self._apart[np.ix_(nans, filled)] = True
        ends = [
            (row, at, not self._parted(at).any()) for at in np.flatnonzero(self._waiting * filled).tolist()
        ]
        self._been |= filled
        for at in np.flatnonzero(nans).tolist():
            if self._been[at]:
                values[row, at] = not (self._parted(at) & filled).any()
            elif (self._across[at] & self._metrics).any():
                values[row, at], waits[row, at] = False, True
                self._waiting[at] += 1
                if self._waiting[at] >= LONGEST_WAIT:
                    self._been[at] = True
                    ends.append((row + 1, at, True))
        for _, at, _ in ends:
            self._waiting[at] = 0
        return ends

    def _parted(self, at: int) -> Mask:
        """The columns that part the rows with one."""
        parted: Mask = self._across[at] & ~self._together[at] & self._apart[at] & self._apart[:, at]
        return parted
