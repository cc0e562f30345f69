"""Values of many metrics, collected in pieces and given as points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Axis, FloatArray, IntArray, Points


class _Piece(NamedTuple):
    """Some points of one metric, arrays of shape [n]; `order` numbers the records they came from."""

    order: IntArray
    values: FloatArray
    steps: IntArray
    times: FloatArray
    lines: IntArray
    axis: Axis


class Columns:
    """Collects pieces of metrics; gives each as one run of points in file order. Its first point gives its
    axis."""

    def __init__(self, context: Context, precision: int) -> None:
        self._context = context
        self._precision = precision
        self._pieces: dict[tuple[str, str], list[_Piece]] = {}
        self._axes: dict[tuple[str, str], Axis] = {}

    def add(
        self,
        metric: str,
        order: IntArray,
        values: FloatArray,
        *,
        steps: IntArray,
        times: FloatArray,
        lines: IntArray,
        axis: Axis = "step",
        source: str = "",
    ) -> None:
        """Adds values of one metric, all arrays of shape [n]; `order` numbers the records they came from."""
        self._pieces.setdefault((metric, source), []).append(_Piece(order, values, steps, times, lines, axis))

    def points(self) -> Iterator[Points]:
        """Everything that was added since the last call."""
        context = self._context
        joined = _Joined()
        for (metric, source), pieces in self._pieces.items():
            one = pieces[0] if len(pieces) == 1 else joined.of(pieces)
            axis = self._axes.setdefault((metric, source), one.axis)
            logger = source or context.source or context.path
            yield Points(
                metric,
                one.steps,
                one.values,
                one.times,
                context.path,
                one.lines,
                context.rank,
                axis,
                self._precision,
                logger,
            )
        self._pieces = {}


class _Joined:
    """Pieces of one metric made one, in the order of their records.

    Metrics of the same records have the same places, which are joined once and handed on as the same arrays.
    """

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._sort: IntArray = np.empty(0, np.int64)
        self._whole: _Piece | None = None

    def of(self, pieces: list[_Piece]) -> _Piece:
        """All pieces as one."""
        whole = self._whole
        if whole is None or not self._same_places(pieces):
            whole = self._join(pieces)
        values = np.concatenate([piece.values for piece in pieces])[self._sort]
        axis = min(pieces, key=lambda piece: int(piece.order[0])).axis
        return whole._replace(values=values, axis=axis)

    def _same_places(self, pieces: list[_Piece]) -> bool:
        return len(pieces) == len(self._pieces) and all(
            own.order is known.order
            and own.steps is known.steps
            and own.times is known.times
            and own.lines is known.lines
            for own, known in zip(pieces, self._pieces, strict=True)
        )

    def _join(self, pieces: list[_Piece]) -> _Piece:
        order = np.concatenate([piece.order for piece in pieces])
        sort = np.argsort(order, kind="stable")
        self._pieces, self._sort = pieces, sort
        self._whole = pieces[0]._replace(
            order=order[sort],
            steps=np.concatenate([piece.steps for piece in pieces])[sort],
            times=np.concatenate([piece.times for piece in pieces])[sort],
            lines=np.concatenate([piece.lines for piece in pieces])[sort],
        )
        return self._whole
