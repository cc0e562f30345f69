"""How often and how soon a command is started again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hrmdoc.supervision.attempts import Attempt
from hrmdoc.supervision.supervise import GRACE_S

LONGEST_S = 600.0
"""The longest pause before a start, unless a longer one is asked for."""
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the user allows.

    Attributes:
        restarts: failures after which it is started again, at most, within `window` seconds. What took
            it away without its failing does not count, unless it had come no further.
        backoff: seconds before it is started again; twice as many each time that the run came no further.
        hang: seconds of silence of its logs and its heartbeat after which it is ended; None: never.
        grace: seconds between SIGTERM and SIGKILL.
    """

    restarts: int = 0
    backoff: float = 30.0
    window: float = DAY_S
    hang: float | None = None
    grace: float = GRACE_S

    def spent(self, attempts: Sequence[Attempt], now: float) -> str:
        """Why there is no further start, "" where there is one."""
        counted = [one for place, one in enumerate(attempts) if _failed(one) or _idle(attempts, place)]
        recent = [one for one in counted if one.ended is None or now - one.ended <= self.window]
        if len(recent) <= self.restarts:
            return ""
        often = f"{len(recent)} failures within {self.window / 3600:g} h"
        return f"{often}, and {self.restarts} restarts are allowed"

    def pause(self, attempts: Sequence[Attempt]) -> float:
        """Seconds until the next start."""
        failed = [one for one in attempts if _failed(one)]
        stuck = 0
        for later, sooner in zip(reversed(failed), reversed(failed[:-1]), strict=False):
            if _further(sooner, later):
                break
            stuck += 1
        return min(self.backoff * 2.0 ** min(stuck, 30), max(LONGEST_S, self.backoff))


def _failed(attempt: Attempt) -> bool:
    return attempt.ended is not None and not attempt.interrupted and bool(attempt.failure)


def _idle(attempts: Sequence[Attempt], place: int) -> bool:
    """Whether an attempt was taken away before it came further than the one before: that may go on for
    ever."""
    return place > 0 and attempts[place].interrupted and not _further(attempts[place - 1], attempts[place])


def _further(sooner: Attempt, later: Attempt) -> bool:
    return later.step is not None and (sooner.step is None or later.step > sooner.step)
