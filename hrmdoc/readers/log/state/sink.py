"""Collects what a session finds and hands it over as records: points in arrays by metric, the rest in
order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hrmdoc.record.records import Axis, Damage, Points, Record


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


class _Rows(Struct):
    """Points of one metric that wait, and what is kept of it: axis and precision of its first point, and the
    number and line of its last one.

    Of each point, step, value, time and line wait one after another: one list costs less than a tuple a
    point.
    """

    axis: Axis
    precision: int
    last: int = -1
    line: int = 0
    waiting: list[float] = field(default_factory=list)


class Sink:
    """Points wait here until the end of a feed; how they are cut into arrays has no meaning.

    A metric keeps the axis and the precision of its first point; without a step its points are numbered.
    """

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self._source = source
        self._rows: dict[int | None, dict[str, _Rows]] = {}
        self._records: list[Record] = []

    def record(self, record: Record) -> None:
        """Adds a line, a fact, an event or a damage."""
        self._records.append(record)

    def metrics(self) -> set[str]:
        """Names of all metrics so far."""
        return set().union(*self._rows.values())

    def passed(self, metric: str, mark: Mark) -> bool:
        """Whether a later line has given a point of the metric: one that waited so long would end its
        curve."""
        rows = self._rows.get(mark.rank, {}).get(metric)
        return rows is not None and rows.line > mark.line

    def single(self) -> bool:
        """Whether no metric has come twice or bears a step."""
        every = (rows for named in self._rows.values() for rows in named.values())
        return all(rows.axis == "index" and rows.last < 1 for rows in every)

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
        for metric, value in values:
            rows = named.get(metric)
            if rows is None:
                rows = named[metric] = _Rows("index" if step is None else axis, precision)
            at = rows.last + 1 if step is None or rows.axis == "index" else step
            rows.last, rows.line = at, line
            rows.waiting += (at, value, time, line)

    def drain(self) -> Iterator[Record]:
        """Everything found since the last call."""
        records, self._records = self._records, []
        yield from self._points()
        yield from records

    def _points(self) -> Iterator[Points]:
        """What waits, as arrays."""
        for rank, named in self._rows.items():
            for metric, rows in named.items():
                if not rows.waiting:
                    continue
                steps, values, times, lines = (rows.waiting[place::4] for place in range(4))
                rows.waiting.clear()
                yield Points(
                    metric=metric,
                    steps=np.array(steps, np.int64),
                    values=np.array(values, np.float64),
                    times=np.array(times, np.float64),
                    file=self.file,
                    lines=np.array(lines, np.int64),
                    rank=rank,
                    axis=rows.axis,
                    precision=rows.precision,
                    source=self._source,
                )
