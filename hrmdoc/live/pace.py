"""When a watched run is to be examined again: at once where something is new about it, else so seldom that
the watch costs next to nothing."""

from __future__ import annotations

from enum import IntEnum

SHARE = 0.003
"""Of one core, for the ordinary examinations of one run."""
LEAST_S, MOST_S = 2.0, 30.0
"""Seconds between two ordinary examinations."""
SOON_S = 0.05
YOUNG = 20.0
"""Of a run that grew by a fifth, an examination is worth this many times as much of a core."""
GROWN = 1.2
QUIET_S = 5.0
"""Seconds after which a quiet run is examined all the same: silence is a symptom too."""
FUTILE = 6
"""Doublings of the pause, at most, where what was new turned out to be nothing again and again."""


class Urgency(IntEnum):
    """How much a run is in need of an examination."""

    NONE = 0
    ORDINARY = 1
    CLOSE = 2
    """Something was new about it a moment ago."""
    NEW = 3


class Pace:
    """Decides for one run.

    Something new brings an examination at once and further ones soon behind it, each after twice the pause of
    the one before: most symptoms show for some points before they count.

    Attributes:
        version: of the run when it was examined last.
        new: something was new about it since.
    """

    def __init__(self) -> None:
        self._examined = float("-inf")
        self._cost = 0.0
        self._pause = 0.0
        self._futile = 0
        self.version, self._points = -1, 0
        self.new = False

    def examined(self, now: float, cost: float, version: int, points: int, *, changed: bool) -> None:
        """Takes in that the run was examined.

        Args:
            now: seconds.
            cost: seconds that it took.
            version: of the run then; another one means that it grew.
            points: of the run then.
            changed: whether an incident changed, or may in a moment.
        """
        self._examined, self.version, self._points = now, version, points
        self._cost = cost if not self._cost else 0.5 * (self._cost + cost)
        if changed:
            self._futile, self._pause = 0, self._soon
        else:
            self._futile = min(FUTILE, self._futile + 1) if self.new else max(0, self._futile - 1)
            self._pause = min(self.ordinary, 2 * max(self._pause, self._soon))
        self.new = False

    def urgency(self, now: float, version: int, points: int, *, new: bool) -> Urgency:
        """How urgent it is now.

        Args:
            new: something about the run is new; see `hrmdoc.live.novelty`.
        """
        since = now - self._examined
        if version == self.version:
            return Urgency.ORDINARY if since >= max(QUIET_S, self._cost / SHARE) else Urgency.NONE
        if new and not self.new:
            self.new = True
            self._pause = min(self._pause, self._soon * 2**self._futile)
        pause = self._pause
        if points >= GROWN * self._points:
            pause = min(pause, max(LEAST_S, YOUNG * self._cost))
        if since < pause:
            return Urgency.NONE
        if self.new:
            return Urgency.NEW
        return Urgency.CLOSE if self._pause < self.ordinary else Urgency.ORDINARY

    @property
    def ordinary(self) -> float:
        """Seconds between two ordinary examinations."""
        return min(MOST_S, max(LEAST_S, self._cost / SHARE))

    @property
    def _soon(self) -> float:
        return max(SOON_S, 4 * self._cost)
