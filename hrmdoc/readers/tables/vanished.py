"""Losses that a table stops to give. pandas writes NaN to CSV as an empty cell, so that a loss vanishes by
becoming NaN."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrmdoc.text import patterns

_LOSS = patterns.lazy(r"loss", re.IGNORECASE)
_WHOLE_LOSS = patterns.lazy(r"^(?:train(?:ing)?[\s_/.-]*)?loss$", re.IGNORECASE)
_BEFORE = 3  # rows in which the loss was there
_SINCE = 2  # rows in which it is not


class Vanished:
    """Watches which cells of a table are filled, row by row.

    A loss has vanished when its column was filled in every row and then never again, while another metric,
    filled in every row as well, went on; or when there is no other metric, and rows without any loss went on
    to be written. The training loss itself may be missing from the first row on.

    Args:
        names: the columns.
        counters: those that count steps, epochs or time.
    """

    def __init__(self, names: Sequence[str], counters: Sequence[str | None]) -> None:
        self._names = names
        metric = [bool(name) and name not in counters for name in names]
        self._losses = [at for at, name in enumerate(names) if metric[at] and _LOSS.search(name)]
        self._others = [at for at, here in enumerate(metric) if here and at not in self._losses]
        self._rows = 0
        self._before = np.zeros(len(names), np.int64)
        self._back = np.zeros(len(names), np.bool_)

    def see(self, filled: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Takes in the next rows, shape [n, columns]. Gives column and row of each loss that is missing for
        the first time."""
        gaps: list[tuple[int, int]] = []
        count = len(filled)
        if filled.all():
            self._back |= self._before < self._rows
            self._before += np.where(self._before == self._rows, count, 0)
            self._rows += count
            return gaps
        for at in (*self._losses, *self._others):
            so_far = self._before[at] == self._rows
            first = (
                int(np.argmin(filled[:, at]))
                if so_far and not filled[:, at].all()
                else count
                if so_far
                else 0
            )
            self._before[at] += first
            self._back[at] |= bool(filled[first:, at].any())
            if so_far and first < count and at in self._losses:
                gaps.append((at, first))
        self._rows += count
        return gaps

    def columns(self) -> list[int]:
        """The columns of the losses that have vanished, as far as can be said at the end."""
        if self._others:
            goes_on = any(self._before[at] == self._rows for at in self._others)
        else:
            goes_on = len({int(self._before[at]) for at in self._losses}) == 1 and not self._back.any()
        return [
            at
            for at in self._losses
            if goes_on
            and not self._back[at]
            and self._rows - self._before[at] >= _SINCE
            and (
                self._before[at] >= _BEFORE
                or (self._before[at] == 0 and self._others and _WHOLE_LOSS.search(self._names[at]))
            )
        ]
