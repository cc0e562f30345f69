"""From scores to episodes: a score must stay beyond `enter` for a while to open one, and beyond `leave` for a
while to end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hrmdoc.measures.base import FloatArray, IntArray

Direction = Literal["above", "below"]


class Episode(Struct, frozen=True):
    """A stretch in which a condition held. Indices count all points given to the trigger, the first is 0.

    Attributes:
        start: first point of the streak that opened it.
        opened: the point at which the streak was long enough.
        closed: the point at which it was over, None while it lasts.
        peak: strongest score (highest, or lowest for `below`).
        peak_index: where.
        count: judged points from `start` on, the closing one left out.
        latest: the score at the last of them.
        held: how many of them lay beyond what closes it.
    """

    start: int
    opened: int
    closed: int | None
    peak: float
    peak_index: int
    count: int
    latest: float
    held: int


class _Streak(Struct):
    """Consecutive judged points that fulfil one condition, carried over the border of a chunk."""

    length: int = 0
    start: int = 0
    peak: float = -np.inf
    peak_index: int = 0


class Trigger:
    """Hysteresis with patience over a stream of scores; NaN scores are points not judged and change nothing.

    Args:
        enter: score from which the condition holds.
        leave: score to which it must fall back; None or equal to `enter` means anything short of `enter`.
        patience: judged points in a row at or beyond `enter` that open an episode.
        leave_patience: judged points in a row at or short of `leave` that close it.
        direction: `below` turns both comparisons round.
    """

    def __init__(
        self,
        enter: float,
        leave: float | None = None,
        patience: int = 1,
        leave_patience: int = 1,
        direction: Direction = "above",
    ) -> None:
        if patience < 1 or leave_patience < 1:
            raise ValueError("patience and leave_patience are at least 1")
        self._sign = 1.0 if direction == "above" else -1.0
        self._enter = self._sign * enter
        self._leave = None if leave is None or leave == enter else self._sign * leave
        if self._leave is not None and self._leave > self._enter:
            raise ValueError("leave lies beyond enter")
        self._patience = patience
        self._leave_patience = leave_patience
        self._high, self._low = _Streak(), _Streak()
        self._seen = 0
        self.evaluated = 0
        self.episodes: list[Episode] = []

    @property
    def open(self) -> bool:
        """An episode lasts."""
        return bool(self.episodes) and self.episodes[-1].closed is None

    def update(self, scores: ArrayLike) -> None:
        """Takes in the next scores, shape [n]."""
        given = np.asarray(scores, dtype=np.float64)
        if not self.open and not self._reaches(given):
            self._pass(given)
            return
        judged = np.flatnonzero(~np.isnan(given))
        values = self._sign * given[judged]
        where = judged + self._seen
        self._seen += len(given)
        self.evaluated += len(judged)
        if len(values):
            self._advance(where, values)

    def _reaches(self, given: FloatArray) -> bool:
        """Whether a score lies at `enter` or beyond."""
        beyond = given >= self._enter if self._sign > 0 else given <= -self._enter
        return bool(beyond.any())

    def _pass(self, given: FloatArray) -> None:
        """Takes in scores that open nothing. How long they have been low does not matter: the point at which
        an episode opens is high."""
        judged = len(given) - int(np.count_nonzero(np.isnan(given)))
        self._seen += len(given)
        self.evaluated += judged
        if judged:
            self._high.length = self._low.length = 0

    def _advance(self, where: IntArray, values: FloatArray) -> None:
        high = values >= self._enter
        low = ~high if self._leave is None else values <= self._leave
        high_run, low_run = _runs(high, self._high.length), _runs(low, self._low.length)
        openings = np.flatnonzero(high_run >= self._patience)
        closings = np.flatnonzero(low_run >= self._leave_patience)
        position = 0
        while position < len(values):
            if not self.open:
                following = np.searchsorted(openings, position)
                if following == len(openings):
                    break
                position = int(openings[following])
                self._open(position, int(high_run[position]), where, values)
                position += 1
            else:
                following = np.searchsorted(closings, position)
                end = int(closings[following]) if following < len(closings) else len(values)
                self._extend(position, end, where, values, low)
                if end == len(values):
                    break
                self.episodes[-1] = replace(self.episodes[-1], closed=int(where[end]))
                position = end + 1
        self._carry(self._high, int(high_run[-1]), where, values)
        self._carry(self._low, int(low_run[-1]), where, values)

    def _open(self, position: int, length: int, where: IntArray, values: FloatArray) -> None:
        """Opens an episode at `position`, the end of a streak of `length` that may have begun in an earlier
        chunk."""
        begin = max(0, position - length + 1)
        strongest = begin + int(np.argmax(values[begin : position + 1]))
        peak, peak_index, start = float(values[strongest]), int(where[strongest]), int(where[begin])
        if length > position + 1:
            start = self._high.start
            if self._high.peak >= peak:
                peak, peak_index = self._high.peak, self._high.peak_index
        latest = self._sign * float(values[position])
        self.episodes.append(
            Episode(start, int(where[position]), None, self._sign * peak, peak_index, length, latest, length)
        )

    def _extend(
        self, begin: int, end: int, where: IntArray, values: FloatArray, low: NDArray[np.bool_]
    ) -> None:
        """Counts the points [begin, end) into the episode that lasts."""
        if begin == end:
            return
        episode = self.episodes[-1]
        strongest = begin + int(np.argmax(values[begin:end]))
        peak, peak_index = episode.peak, episode.peak_index
        if values[strongest] > self._sign * peak:
            peak, peak_index = self._sign * float(values[strongest]), int(where[strongest])
        latest, count = self._sign * float(values[end - 1]), episode.count + end - begin
        held = episode.held + end - begin - int(np.count_nonzero(low[begin:end]))
        self.episodes[-1] = replace(
            episode, peak=peak, peak_index=peak_index, count=count, latest=latest, held=held
        )

    @staticmethod
    def _carry(streak: _Streak, length: int, where: IntArray, values: FloatArray) -> None:
        """Keeps what the next chunk needs of the streak of some length that reaches its end."""
        if length == 0:
            streak.length = 0
            return
        begin = max(0, len(values) - length)
        strongest = begin + int(np.argmax(values[begin:]))
        if length <= len(values) or streak.length == 0:
            streak.start = int(where[begin])
            streak.peak, streak.peak_index = float(values[strongest]), int(where[strongest])
        elif values[strongest] > streak.peak:
            streak.peak, streak.peak_index = float(values[strongest]), int(where[strongest])
        streak.length = length


def _runs(flags: NDArray[np.bool_], carried: int) -> IntArray:
    """How many flags in a row, ending at each point, are set; `carried` of them before the first."""
    index = np.arange(len(flags))
    last_unset = np.maximum.accumulate(np.where(flags, -1 - carried, index))
    return np.where(flags, index - last_unset, 0)
