"""Collects what a session finds and hands it over as records: points in arrays by metric, the rest in order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hrmdoc.run import Axis, Points, Record


class Mark(NamedTuple):
    """Where and when something was read."""

    line: int
    time: float = math.nan
    rank: int | None = None


class _Key(NamedTuple):
    metric: str
    rank: int | None
    axis: Axis
    precision: int


class Sink:
    """Points wait here until the end of a feed; how they are cut into arrays has no meaning.

    A metric keeps the axis of its first point; without a step its points are numbered.
    """

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self._source = source
        self._rows: dict[_Key, tuple[list[int], list[float], list[float], list[int]]] = {}
        self._axes: dict[tuple[str, int | None], Axis] = {}
        self._counts: dict[tuple[str, int | None], int] = {}
        self._records: list[Record] = []

    def record(self, record: Record) -> None:
        """Adds a line, a fact, an event or a damage."""
        self._records.append(record)

    def point(self, metric: str, value: float, step: int | None, axis: Axis, mark: Mark, precision: int = 1) -> None:
        """Adds one point; `step` None means that the source tells none."""
        name = (metric, mark.rank)
        kept = self._axes.setdefault(name, "index" if step is None else axis)
        if kept == "index" or step is None:
            step = self._counts.get(name, -1) + 1
        self._counts[name] = step
        key = _Key(metric, mark.rank, kept, precision)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = ([], [], [], [])
        rows[0].append(step)
        rows[1].append(value)
        rows[2].append(mark.time)
        rows[3].append(mark.line)

    def drain(self) -> Iterator[Record]:
        """Everything found since the last call."""
        records, self._records = self._records, []
        rows, self._rows = self._rows, {}
        for key, (steps, values, times, lines) in rows.items():
            yield Points(
                metric=key.metric,
                steps=np.array(steps, np.int64),
                values=np.array(values, np.float64),
                times=np.array(times, np.float64),
                file=self.file,
                lines=np.array(lines, np.int64),
                rank=key.rank,
                axis=key.axis,
                precision=key.precision,
                source=self._source,
            )
        yield from records
