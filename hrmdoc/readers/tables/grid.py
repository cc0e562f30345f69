"""Cells of tables made into numbers, many at once."""

from __future__ import annotations

from itertools import chain

import numpy as np
import orjson
from numpy.typing import NDArray

from hrmdoc.readers.tables.cells import number
from hrmdoc.record.records import FloatArray

Grid = NDArray[np.float64]


def json_rows(body: bytes) -> list[list[float | None]]:
    """Rows of cells with `],[` between the rows; where a cell is empty, JSON wants a null."""
    try:
        return orjson.loads(b"[[" + body + b"]]")  # type: ignore[no-any-return]
    except orjson.JSONDecodeError:
        for _ in range(2):
            body = body.replace(b",,", b",null,")
        body = body.replace(b"[,", b"[null,").replace(b",]", b",null]")
        body = (
            (b"[[null" if body.startswith(b",") else b"[[")
            + body
            + (b"null]]" if body.endswith(b",") else b"]]")
        )
        return orjson.loads(body)  # type: ignore[no-any-return]


def matrix(rows: list[list[float | None]], width: int) -> Grid:
    """Rows of one width as numbers, NaN for a missing cell."""
    try:
        return np.fromiter(chain.from_iterable(rows), np.float64, width * len(rows)).reshape(-1, width)
    except TypeError:
        return np.array(rows, np.float64)


def column(cells: tuple[str, ...]) -> FloatArray:
    """Cells as numbers, shape [n]; NaN for what is missing or no number. What a cell is depends on no
    other."""
    try:
        if not any("_" in cell for cell in cells):
            return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        pass
    return np.array([_number_in(cell) for cell in cells])


def _number_in(cell: str) -> float:
    try:
        if "_" not in cell:
            return float(cell)
    except ValueError:
        pass
    value = number(cell)
    return np.nan if value is None else value
