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
        for (metric, source), pieces in self._pieces.items():
            one = pieces[0] if len(pieces) == 1 else _joined(pieces)
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


def _joined(pieces: list[_Piece]) -> _Piece:
    """All pieces as one, in the order of their records."""
    sort = np.argsort(np.concatenate([piece.order for piece in pieces]), kind="stable")
    return _Piece(
        np.concatenate([piece.order for piece in pieces])[sort],
        np.concatenate([piece.values for piece in pieces])[sort],
        np.concatenate([piece.steps for piece in pieces])[sort],
        np.concatenate([piece.times for piece in pieces])[sort],
        np.concatenate([piece.lines for piece in pieces])[sort],
        min(pieces, key=lambda piece: int(piece.order[0])).axis,
    )
