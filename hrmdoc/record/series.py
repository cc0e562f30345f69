"""The points of one metric as they come together, and which of several sources of it to trust."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hrmdoc.record.columns import Column
from hrmdoc.record.positions import Positions
from hrmdoc.record.quantity import Quantity
from hrmdoc.record.records import Axis, FloatArray, IntArray, Points
from hrmdoc.text import patterns


class RoleGuess(NamedTuple):
    """The role of a metric, and whether it was guessed by pattern rather than known."""

    role: str | None
    guessed: bool = False


class Nature(NamedTuple):
    """What sort of thing a series is, whatever its role.

    Attributes:
        family: id of `rules/families/`, "" where nothing tells.
        floor, ceiling: no value lies beyond them.
        words: those of the name, in lower case.
        held_out: its name says that it is of data that the model does not learn from.
        quantity: what it is by definition, where its name says so.
        above: names of others of the run that it can never exceed; None where it is in no order with others.
    """

    family: str = ""
    floor: float = -math.inf
    ceiling: float = math.inf
    words: tuple[str, ...] = ()
    held_out: bool = False
    quantity: Quantity | None = None
    above: tuple[str, ...] | None = None


class SeriesKey(NamedTuple):
    metric: str
    rank: int | None
    source: str


class Series:
    """All points of one metric from one source, in order of arrival; arrays grow at amortised constant
    cost."""

    __slots__ = (
        "_begins",
        "_data",
        "_dropped",
        "_positions",
        "_size",
        "axis",
        "files",
        "key",
        "nature",
        "precision",
        "role",
    )

    def __init__(self, key: SeriesKey, role: RoleGuess, axis: Axis, precision: int) -> None:
        self.key = key
        self.role = role
        self.nature = Nature()
        self.axis: Axis = axis
        self.precision = precision
        self.files: list[str] = []
        self._begins: list[int] = []
        """Which point is the first of each file."""
        self._size = self._dropped = 0
        self._data = Column(np.float64)
        self._positions = Positions()

    def __len__(self) -> int:
        return self._size

    def extend(self, points: Points, beside: Positions | None = None) -> Positions:
        """Appends `points`.

        Args:
            beside: where the points of another series stand, which may be where these do.

        Returns:
            Where the points of this one stand.
        """
        n, size = len(points.values), self._size
        if n:
            self._positions = self._positions.extended(size, points, beside)
            self._data.extend(size, points.values)
        if not self.files or self.files[-1] != points.file:
            self.files.append(points.file)
            self._begins.append(size)
        self._size = size + n
        return self._positions

    @property
    def came(self) -> int:
        """How many points came, those that were let go counted."""
        return self._size + self._dropped

    @property
    def stands(self) -> tuple[int, int]:
        """The same for series whose points stand at the same places, and for no others."""
        return id(self._positions), self._size

    def last_positions(self, count: int) -> Positions:
        """Where the last points stand."""
        return self._positions.last(count, self._size)

    def keep_last(self, count: int, positions: Positions) -> None:
        """Lets all points go but the last ones, which stand at `positions`."""
        gone, values = self._size - count, self.values[self._size - count :].copy()
        self._begins = [max(0, begin - gone) for begin in self._begins]
        self._size, self._dropped, self._positions = count, self._dropped + gone, positions
        self._data = Column(np.float64)
        self._data.extend(0, values)

    @property
    def steps(self) -> IntArray:
        """Steps, shape [n]."""
        return self._positions.steps(self._size)

    @property
    def values(self) -> FloatArray:
        """Values, shape [n]."""
        return self._data.first(self._size)

    @property
    def finite(self) -> FloatArray:
        """The values that are numbers, in their order."""
        return self.values[np.isfinite(self.values)]

    @property
    def times(self) -> FloatArray:
        """Unix seconds or NaN, shape [n]."""
        return self._positions.times(self._size)

    def behind(self, line: int) -> int:
        """Index of the first point that stands behind a line of its one file; its length where none does."""
        return int(np.searchsorted(self._positions.lines(self._size), line, side="right"))

    def place(self, index: int) -> tuple[str, int | None]:
        """File and line (or byte offset) of one point."""
        line = self._positions.line(index, self._size)
        at = index if index >= 0 else index + self._size
        return self.files[bisect_right(self._begins, at) - 1], None if line < 0 else line


_FAR_DENSER = 20
"""An exact series is worth more than a rounded one with up to so many times its points."""


_FEWEST_OF_A_RUN = 6
"""Points from which a series may be of a run by itself, not a summary of the one before."""


_OF_THE_WHOLE = frozenset(
    {"total", "mean", "avg", "average", "sum", "overall", "all", "combined", "full", "joint"}
)
_WORDS = patterns.lazy(r"[a-z]+")


def _names_the_whole(metric: str) -> bool:
    """Whether a name says that it sums up others: `mean_loss` beside `wall_loss` and `inlet_loss`."""
    return not _OF_THE_WHOLE.isdisjoint(_WORDS.findall(metric.lower()))


class _Others:
    """What series of one role show together, so that each is held against all others in one step."""

    def __init__(self, found: Sequence[Series]) -> None:
        self._spans: dict[Axis, tuple[int, int]] = {}
        self._longest: dict[Axis, int] = {}
        self._latest: dict[tuple[str, ...], list[tuple[int, SeriesKey]]] = {}
        """By files, the two series that begin last in them, and the lines where they do."""
        for one in found:
            first, last = self._spans.get(one.axis, (int(one.steps[0]), int(one.steps[-1])))
            self._spans[one.axis] = min(first, int(one.steps[0])), max(last, int(one.steps[-1]))
            self._longest[one.axis] = max(one.came, self._longest.get(one.axis, 0))
            begins = one.place(0)[1]
            if begins is not None and len(one) >= _FEWEST_OF_A_RUN:
                latest = self._latest.setdefault(tuple(one.files), [])
                latest.append((begins, one.key))
                latest.sort(key=lambda known: -known[0])
                del latest[2:]

    def tell_more(self, series: Series) -> bool:
        """Whether one of them covers a part of the run that `series` leaves out, or has far more points.

        A state file is only as new as its checkpoint, an event file only as new as its last flush: the
        printed log may be ahead.
        """
        if any(2 * series.came < most for axis, most in self._longest.items() if axis != series.axis):
            return True
        first, last = int(series.steps[0]), int(series.steps[-1])
        slack = 2 * max(1.0, (last - first) / max(1, len(series) - 1))
        earliest, newest = self._spans[series.axis]
        ahead = newest > last + slack or earliest < first - slack
        return ahead or _FAR_DENSER * series.came < self._longest[series.axis]

    def follow(self, series: Series) -> bool:
        """Whether one begins in the same file where `series` has ended, as the run behind it does."""
        last = series.place(-1)[1]
        latest = self._latest.get(tuple(series.files), [])
        return last is not None and any(last < first for first, key in latest if key != series.key)


def rank_number(series: Series) -> int:
    """The rank that wrote a series, -1 where none is known."""
    return -1 if series.key.rank is None else series.key.rank


def best_first(found: Sequence[Series]) -> list[Series]:
    """Series of one role, the most trustworthy first: of the last run in a file before earlier ones, known
    before guessed, those that cover all of it first, then precise, then long; of guessed ones that are level,
    one that is named as the whole of them."""
    others = _Others(found)

    def trust(series: Series) -> tuple[bool, bool, bool, int, int, bool, str, str]:
        part = series.role.guessed and not _names_the_whole(series.key.metric)
        return (
            others.follow(series),
            series.role.guessed,
            others.tell_more(series),
            -series.precision,
            -series.came,
            part,
            series.key.metric,
            series.key.source,
        )

    return sorted(found, key=trust)
