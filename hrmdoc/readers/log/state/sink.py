"""Collects what a session finds and hands it over as records: points in arrays by metric, the rest in
order.

Lines of a known shape may be read all at once and later than others that stand behind them. So whatever is
found bears its place in the log, and is put in order when it is handed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from hrmdoc.readers.log.lines.clocks import DAY
from hrmdoc.readers.log.state.days import Days
from hrmdoc.record.records import Axis, Damage, Event, Line, Points, Record

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_STEP = int(np.iinfo(np.int64).min)
"""Stands for the step of a point whose line gives none."""


class Mark(NamedTuple):
    """Where and when something was read."""

    line: int
    time: float = math.nan
    rank: int | None = None


class LeftOut:
    """Counts what is not kept because a bound was reached; nothing is dropped without a word."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}
        self._data: set[str] = set()

    def add(self, what: str, mark: Mark, count: int = 1, *, data: bool = False) -> None:
        """Some of `what` was not kept; `data`: it looks like data, and is hardly evidence of anything."""
        line, before = self._counts.get(what, (mark.line, 0))
        self._counts[what] = line, before + count
        if data:
            self._data.add(what)

    def report(self, file: str) -> Iterator[Damage]:
        """One record for each bound that was reached: where first, and how much was left out."""
        for what, (line, count) in self._counts.items():
            yield Damage(file, line, f"left out {count:,} {what}", count, incomplete=what not in self._data)
        self._counts.clear()


class Piece(NamedTuple):
    """Some points of one metric, arrays of shape [n]; `order` tells their places in the log."""

    order: Ints
    steps: Ints
    values: Floats
    times: Floats
    lines: Ints

    @classmethod
    def joined(cls, pieces: list[Piece]) -> Piece:
        """All pieces as one, in order."""
        if len(pieces) == 1:
            return pieces[0]
        order = np.concatenate([piece.order for piece in pieces])
        sort: Ints | slice = slice(None)
        if (order[1:] < order[:-1]).any():
            sort = np.argsort(order, kind="stable")
        return cls(
            order[sort],
            np.concatenate([piece.steps for piece in pieces])[sort],
            np.concatenate([piece.values for piece in pieces])[sort],
            np.concatenate([piece.times for piece in pieces])[sort],
            np.concatenate([piece.lines for piece in pieces])[sort],
        )

    def at_places_of(self, other: Piece | None) -> Piece:
        """The same, which stands at the places of another: metrics of the same lines share them."""
        if other is None or len(other.order) != len(self.order):
            return self
        alike = (
            np.array_equal(self.lines, other.lines)
            and np.array_equal(self.steps, other.steps)
            and np.array_equal(self.times.view(np.int64), other.times.view(np.int64))
        )
        return other._replace(order=self.order, values=self.values) if alike else self


class _Rows(Struct):
    """Points of one metric that wait, and what is kept of it: axis and precision of its first point, where in
    the log that stands, how many there were, and the number and line of the last one that was handed over.

    Of each point, place, step, value, time and line wait one after another: one list costs less than a tuple
    a point.
    """

    axis: Axis
    precision: int
    first: int
    count: int = 0
    last: int = -1
    line: int = 0
    waiting: list[float] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    def gather(self) -> None:
        """Makes a piece of the points that came one by one."""
        if not self.waiting:
            return
        order, steps, values, times, lines = (self.waiting[place::5] for place in range(5))
        self.waiting.clear()
        floats = np.array(values, np.float64), np.array(times, np.float64)
        self.pieces.append(
            Piece(np.array(order, np.int64), np.array(steps, np.int64), *floats, np.array(lines, np.int64))
        )

    def take(self) -> Piece | None:
        """What waits, with a number for each point that bears no step."""
        self.gather()
        if not self.pieces:
            return None
        whole = Piece.joined(self.pieces)
        self.pieces = []
        steps = self._numbered(whole.steps)
        self.last, self.line = int(steps[-1]), int(whole.lines[-1])
        return whole._replace(steps=steps)

    def _numbered(self, steps: Ints) -> Ints:
        number = np.arange(len(steps), dtype=np.int64)
        if self.axis == "index":
            return self.last + 1 + number
        given = steps != NO_STEP
        if given.all():
            return steps
        before = np.maximum.accumulate(np.where(given, number, -1))
        start = np.where(before < 0, self.last, steps[before])
        return start + number - before

    def newest(self) -> int:
        """The line of the last point."""
        found = [(int(piece.order[-1]), int(piece.lines[-1])) for piece in self.pieces]
        if self.waiting:
            found.append((int(self.waiting[-5]), int(self.waiting[-1])))
        return max(found)[1] if found else self.line


class Sink:
    """Points wait here until the end of a feed; how they are cut into arrays has no meaning.

    A metric keeps the axis and the precision of its first point; without a step its points are numbered.

    Attributes:
        at: the place in the log of what is added one by one.
        asked: called before something changes, or is looked up, that all lines share; whatever waits to be
            read comes first.
    """

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.at = 0
        self.asked: Callable[[], None] = lambda: None
        self._source = source
        self._rows: dict[int | None, dict[str, _Rows]] = {}
        self._records: list[tuple[int, Record]] = []
        self._new: set[int | None] = set()
        self._days = Days()

    def record(self, record: Record, at: int | None = None) -> None:
        """Adds a line, a fact, an event or a damage."""
        self._records.append((self.at if at is None else at, record))

    @property
    def count(self) -> int:
        """How many points there are so far."""
        return sum(rows.count for named in self._rows.values() for rows in named.values())

    def metrics(self) -> set[str]:
        """Names of all metrics so far."""
        self.asked()
        return set().union(*self._rows.values())

    def passed(self, metric: str, mark: Mark) -> bool:
        """Whether a later line has given a point of the metric: one that waited so long would end its
        curve."""
        rows = self._rows.get(mark.rank, {}).get(metric)
        return rows is not None and rows.newest() > mark.line

    def single(self) -> bool:
        """Whether no metric has come twice or bears a step."""
        every = (rows for named in self._rows.values() for rows in named.values())
        return all(rows.axis == "index" and rows.count < 2 for rows in every)

    def points(
        self,
        values: Iterable[tuple[str, float]],
        step: int | None,
        axis: Axis,
        mark: Mark,
        precision: int = 1,
    ) -> None:
        """Adds one point of each of several metrics; `step` None means that the source gives none."""
        line, time, rank = mark
        named = self._rows.get(rank)
        if named is None:
            named = self._rows[rank] = {}
        at = NO_STEP if step is None else step
        for metric, value in values:
            rows = named.get(metric)
            if rows is None:
                rows = named[metric] = _Rows("index" if step is None else axis, precision, self.at)
            rows.count += 1
            rows.waiting += (self.at, at, value, time, line)

    def many(
        self, metric: str, rank: int | None, piece: Piece, axis: Axis = "step", precision: int = 1
    ) -> None:
        """Adds points of one metric that were read at once."""
        if not len(piece.order):
            return
        named = self._rows.setdefault(rank, {})
        rows, first = named.get(metric), int(piece.order[0])
        if rows is None:
            index = int(piece.steps[0]) == NO_STEP
            rows = named[metric] = _Rows("index" if index else axis, precision, first)
            self._new.add(rank)
        rows.gather()
        rows.count += len(piece.order)
        rows.pieces.append(piece)

    def _sort(self) -> None:
        """Brings metrics, and ranks by their first one, into the order in which the log shows them."""
        for rank in self._new:
            self._rows[rank] = dict(sorted(self._rows[rank].items(), key=lambda named: named[1].first))
        self._new.clear()
        firsts = {rank: min(rows.first for rows in named.values()) for rank, named in self._rows.items()}
        self._rows = dict(sorted(self._rows.items(), key=lambda named: firsts[named[0]]))

    def drain(self) -> Iterator[Record]:
        """Everything found since the last call."""
        records, self._records = self._records, []
        records.sort(key=lambda found: found[0])
        yield from self._points()
        for _, record in records:
            if isinstance(record, Event | Line) and record.time < DAY:
                yield structs.replace(record, time=math.nan)  # of points alone the days are counted
            else:
                yield record

    def _points(self) -> Iterator[Points]:
        """What waits, as arrays."""
        if self._new:
            self._sort()
        taken = [
            (rank, metric, rows, whole)
            for rank, rows_of in self._rows.items()
            for metric, rows in rows_of.items()
            if (whole := rows.take()) is not None
        ]
        wholes = [whole for *_, whole in taken]
        times = self._days.counted([one.order for one in wholes], [one.times for one in wholes])
        beside: Piece | None = None
        for (rank, metric, rows, whole), counted in zip(taken, times, strict=True):
            beside = whole._replace(times=counted).at_places_of(beside)
            yield Points(
                metric=metric,
                steps=beside.steps,
                values=beside.values,
                times=beside.times,
                file=self.file,
                lines=beside.lines,
                rank=rank,
                axis=rows.axis,
                precision=rows.precision,
                source=self._source,
            )
