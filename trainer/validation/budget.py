"""CPU time that a call may spend."""

from __future__ import annotations

import math
import os


def cpu_s() -> float:
    """Seconds of CPU time of this process and of those that it waited for, such as generated programs."""
    return math.fsum(os.times()[:4])


class Budget:
    """CPU minutes from now on; None is without end."""

    def __init__(self, minutes: float | None) -> None:
        self.seconds = math.inf if minutes is None else minutes * 60
        self._began = cpu_s()

    @property
    def spent_s(self) -> float:
        return cpu_s() - self._began

    def over(self, share: float = 1.0) -> bool:
        """Whether that share of it is spent."""
        return self.spent_s >= share * self.seconds
