"""When a target that failed is tried again."""

from __future__ import annotations

import random

from msgspec import Struct

FIRST_S, CEILING_S = 2.0, 120.0
ASKED_S = 3600.0
"""For so many seconds at most a target is left alone because it asks for it."""


class Failing(Struct, frozen=True):
    """A target that took nothing the last `count` times; `at` and `until` are Unix seconds."""

    count: int = 0
    why: str = ""
    at: float = 0.0
    until: float = 0.0

    def rests(self, now: float) -> bool:
        """Whether it is left alone; a clock that was set back prolongs no pause."""
        return bool(self.count) and self.at <= now < self.until


def next_try(count: int, now: float, asked_s: float = 0.0) -> float:
    """Unix seconds of the next try after `count` failures in a row: twice the pause each time, up to a
    ceiling, and up to a half less by chance, so that many watchers do not come at once."""
    pause = min(CEILING_S, FIRST_S * 2.0 ** min(count - 1, 30)) * random.uniform(0.5, 1.0)
    return now + max(pause, min(asked_s, ASKED_S))
