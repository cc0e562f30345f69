"""Which of several progress bars counts the steps of the run."""

from __future__ import annotations


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

    def choose(self) -> None:
        """A training record came: if no bar is known to be the run's, the first open one is."""
        if self._open and self.complete:
            self.total, self.n = next(iter(self._open.items()))
