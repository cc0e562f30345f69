"""Which of several progress bars counts the steps of the run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_MOST_DRAWN = 1 << 16
"""So many of the newest redraws of a bar are remembered."""


class BarOfRun:
    """Finds the bar without a description that counts the run's steps among those of evaluations.

    The first that is open when a training record comes is the one, until it is complete.
    """

    def __init__(self) -> None:
        self.n: int | None = None
        self.total: int | None = None
        self._open: dict[int, int] = {}
        self._drawn: dict[int, list[int]] = {}
        self._full: int | None = None

    @property
    def complete(self) -> bool:
        """Whether the run's bar has reached its end, or none is known."""
        return self.total is None or self.n is None or self.n >= self.total

    @property
    def may_open(self) -> bool:
        """Whether a bar is open that may become the run's."""
        return bool(self._open)

    @property
    def passed(self) -> bool:
        """Whether the one bar there was is full before any training record came."""
        return self.total is None and self._full is not None

    @property
    def steps(self) -> int:
        """Those of the run; 0 where no bar tells them."""
        return (self._full if self.passed else self.total) or 0

    @property
    def come_to(self) -> int:
        """What the run's bar shows now."""
        return (self._full if self.passed else self.n) or 0

    @property
    def drawn(self) -> Ints:
        """What the run's bar has shown, redraw by redraw."""
        return np.array(self._drawn.get(self.steps, [])[-_MOST_DRAWN:], np.int64)

    def see(self, n: int, total: int) -> bool:
        """Takes a redraw in; says whether it is of the run's bar."""
        self._draw(total, [n])
        if n >= total:
            self._open.pop(total, None)
            self._fill(total)
            if total == self.total:  # what is open inside of it is no run that follows
                self._open = {other: shown for other, shown in self._open.items() if other > total}
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
            shown = n[total == each]
            begun = np.flatnonzero(shown[1:] < shown[:-1]) + 1
            self._open[each] = int(shown[-1])
            self._draw(
                each, shown[begun[-1] :].tolist() if len(begun) else shown.tolist(), anew=len(begun) > 0
            )
        own: NDArray[np.bool_] = total == (-1 if self.total is None else self.total)
        if own.any():
            self.n = int(n[own][-1])
        return own

    def choose(self) -> None:
        """A training record came: if no bar is known to be the run's, the first open one is."""
        if self._open and self.complete:
            self.total, self.n = next(iter(self._open.items()))

    def _draw(self, total: int, shown: list[int], *, anew: bool = False) -> None:
        """Remembers what a bar showed since it began."""
        drawn = self._drawn.setdefault(total, [])
        if anew or (drawn and shown[0] < drawn[-1]):
            drawn.clear()
        drawn += shown
        if len(drawn) > 2 * _MOST_DRAWN:
            del drawn[:-_MOST_DRAWN]

    def _fill(self, total: int) -> None:
        """Forgets a bar that is full, but the run's, and the longest while none is known to be that."""
        gone: int | None = total if total != self.total else None
        if self.n is None and total >= (self._full or 0):
            gone, self._full = self._full if self._full != total else None, total
        if gone is not None:
            self._drawn.pop(gone, None)
