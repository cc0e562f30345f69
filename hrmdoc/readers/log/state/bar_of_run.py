"""Which of several progress bars counts the steps of the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class BarOfRun:
    """Finds the bar without a description that counts the run's steps among those of evaluations.

    The first that is open when a training record comes is the one, until it is complete.
    """

    def __init__(self) -> None:
        self.n: int | None = None
        self.total: int | None = None
        self._open: dict[int, int] = {}

    @property
    def complete(self) -> bool:
        """Whether the run's bar has reached its end, or none is known."""
        return self.total is None or self.n is None or self.n >= self.total

    @property
    def may_open(self) -> bool:
        """Whether a bar is open that may become the run's."""
        return bool(self._open)

    @property
    def unseen(self) -> bool:
        """Whether no bar may be the run's."""
        return self.n is None and not self._open

    def see(self, n: int, total: int) -> bool:
        """Takes a redraw in; says whether it is of the run's bar."""
        if n >= total:
            self._open.pop(total, None)
        else:
            self._open[total] = n
        if total != self.total:
            return False
        self.n = n
        return True

    def see_open(self, n: Ints, total: Ints) -> NDArray[np.bool_]:
        """Takes many redraws of bars that are not full in, in order; says which are of the run's bar."""
        totals, first = np.unique(total, return_index=True)
        for each in totals[np.argsort(first)].tolist():
            self._open[each] = int(n[total == each][-1])
        own: NDArray[np.bool_] = total == (-1 if self.total is None else self.total)
        if own.any():
            self.n = int(n[own][-1])
        return own

    def choose(self) -> None:
        """A training record came: if no bar is known to be the run's, the first open one is."""
        if self._open and self.complete:
            self.total, self.n = next(iter(self._open.items()))
