"""What ordinary examinations of many runs may cost: what reading them leaves of a fifth of a core, at most a
twentieth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WHOLE = 0.18
"""Of one core, for everything; a search below the root and new incidents may take more now and then."""
LEAST, MOST = 0.02, 0.05
"""Of one core, for ordinary examinations, however much or little else there is to do."""
SAVED_S = 1.0
"""Seconds of unspent work that count later."""
MEMORY_S = 10.0
"""Seconds over which what else there is to do is averaged."""


class Purse:
    """CPU seconds for ordinary examinations.

    Args:
        steady: seconds of a clock that nobody sets.
        spent: CPU seconds of this process.

    Attributes:
        share: of one core that ordinary examinations may take now.
    """

    def __init__(self, steady: Callable[[], float], spent: Callable[[], float] = time.process_time) -> None:
        self._steady, self._spent = steady, spent
        self._at, self._counted = steady(), spent()
        self._credit = self._paid = self._else = 0.0
        self.share = MOST

    def fill(self) -> None:
        """Takes in the time that has passed."""
        now, spent = self._steady(), self._spent()
        passed = now - self._at
        if passed <= 0:
            return
        others = (spent - self._counted - self._paid) / passed
        self._else += (others - self._else) * min(1.0, passed / MEMORY_S)
        self.share = min(MOST, max(LEAST, WHOLE - self._else))
        self._credit = min(self.share * SAVED_S, self._credit + self.share * passed)
        self._at, self._counted, self._paid = now, spent, 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing may be spent now."""
        return self._credit <= 0

    @contextmanager
    def paid(self) -> Iterator[None]:
        """What is done within is paid for."""
        began = self._spent()
        try:
            yield
        finally:
            cost = self._spent() - began
            self._credit -= cost
            self._paid += cost
