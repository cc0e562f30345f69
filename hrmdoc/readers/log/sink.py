"""Collects what a session finds and hands it over as records: points in arrays by metric, the rest in
order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hrmdoc.record.records import Axis, Points, Record


class Mark(NamedTuple):
    """Where and when something was read."""

    line: int
    time: float = math.nan
    rank: int | None = None


class _Rows(Struct):
    """Points of one metric that wait, and what is kept of it: its axis and the number of its last point.

    Of each point, step, value, time and line wait one after another: one list costs less than a tuple a
    point.
    """

    axis: Axis
    last: int = -1
    waiting: list[float] = field(default_factory=list)


class Sink:
    """Points wait here until the end of a feed; how they are cut into arrays has no meaning.

    A metric keeps the axis of its first point; without a step its points are numbered.
    """

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self._source = source
        self._rows: dict[tuple[str, int | None, int], _Rows] = {}
        self._named: dict[tuple[int | None, int], dict[str, _Rows]] = {}
        self._precision = 1
        self._ready: list[Points] = []
        self._records: list[Record] = []

    def record(self, record: Record) -> None:
        """Adds a line, a fact, an event or a damage."""
        self._records.append(record)

    def metrics(self) -> set[str]:
        """Names of all metrics so far."""
        return {metric for metric, _, _ in self._rows}

    def single(self) -> bool:
        """Whether no metric has come twice or bears a step."""
        return all(rows.axis == "index" and rows.last < 1 for rows in self._rows.values())

    def point(
        self, metric: str, value: float, step: int | None, axis: Axis, mark: Mark, precision: int = 1
    ) -> None:
        """Adds one point; `step` None means that the source tells none."""
        self.points(((metric, value),), step, axis, mark, precision)

    def points(
        self,
        values: Iterable[tuple[str, float]],
        step: int | None,
        axis: Axis,
        mark: Mark,
        precision: int = 1,
    ) -> None:
        """Adds one point of each of several metrics; see `point`."""
        line, time, rank = mark
        named = self._of(rank, precision)
        for metric, value in values:
            rows = named.get(metric)
            if rows is None:
                rows = named[metric] = self._rows[metric, rank, precision] = _Rows(
                    "index" if step is None else axis
                )
            at = rows.last + 1 if step is None or rows.axis == "index" else step
            rows.last = at
            rows.waiting += (at, value, time, line)

    def columns(
        self,
        columns: Mapping[str, Sequence[float]],
        steps: Sequence[int] | None,
        lines: range,
        rank: int | None,
    ) -> None:
        """Adds many points of several metrics, each the values of lines after each other; `steps` None as in
        `point`."""
        named = self._of(rank, 1)
        for metric, values in columns.items():
            rows = named.get(metric)
            if rows is None:
                rows = named[metric] = self._rows[metric, rank, 1] = _Rows(
                    "index" if steps is None else "step"
                )
            after = rows.last + 1
            at = range(after, after + len(values)) if steps is None or rows.axis == "index" else steps
            rows.last = at[-1]
            rows.waiting += chain.from_iterable(zip(at, values, repeat(math.nan), lines, strict=False))

    def _of(self, rank: int | None, precision: int) -> dict[str, _Rows]:
        """What waits of a rank, by metric. Points of another precision are made ready first: they stand
        before the next ones."""
        if precision != self._precision:
            self._ready += self._points()
            self._precision = precision
        return self._named.setdefault((rank, precision), {})

    def drain(self) -> Iterator[Record]:
        """Everything found since the last call."""
        ready, self._ready = self._ready, []
        records, self._records = self._records, []
        yield from ready
        yield from self._points()
        yield from records

    def _points(self) -> Iterator[Points]:
        """What waits, as arrays."""
        for (metric, rank, precision), rows in self._rows.items():
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
                precision=precision,
                source=self._source,
            )
