"""Lists of a JSON document as columns: numbers, steps with values, and the steps that stand beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.tables.cells import is_missing, number
from hrmdoc.readers.tables.keys import EPOCH_KEYS, STEP_KEYS
from hrmdoc.record.records import Axis, FloatArray, IntArray


def column(cells: Sequence[Any]) -> FloatArray | None:
    """A list of numbers, shape [n]; what is missing is NaN, since a list has a place for every epoch. None
    for any other list."""
    values = [
        math.nan if is_missing(cell) else number(cell) if not isinstance(cell, bool | list) else None
        for cell in cells
    ]
    if any(value is None for value in values) or all(map(is_missing, cells)):
        return None
    return np.array(values, np.float64)


def measured(cells: Sequence[Any]) -> NDArray[np.bool_]:
    """Where something was measured, shape [n]: a gap that numbers follow is an epoch that was not evaluated,
    and then so is every other; gaps at the end alone are values that are no numbers any more."""
    missing = np.array([is_missing(cell) for cell in cells])
    ended = np.flatnonzero(~missing)[-1:]
    gaps = bool(missing[: int(ended[0])].any()) if len(ended) else False
    return ~missing if gaps else np.ones(len(missing), np.bool_)


def pairs(cells: Sequence[Any]) -> tuple[IntArray, FloatArray] | None:
    """Steps and values, shape [n] each, of a list of `[step, value]` whose steps never fall; None for any
    other list."""
    if not all(isinstance(cell, list) and len(cell) == 2 for cell in cells) or len(cells) < 2:
        return None
    steps, values = column([cell[0] for cell in cells]), column([cell[1] for cell in cells])
    if steps is None or values is None or not (np.isfinite(steps).all() and (np.abs(steps) < 1e15).all()):
        return None
    if (steps != np.floor(steps)).any() or (np.diff(steps) < 0).any():
        return None
    return steps.astype(np.int64), values


def x_axis(curves: Mapping[str, FloatArray], folder: str, name: str, count: int) -> tuple[IntArray, Axis]:
    """Steps from a list beside the metric with as many entries, else the position, which counts epochs."""
    own = [name.split("_")[0] + "_steps", name + "_steps", *STEP_KEYS]
    for key, axis in (*((key, "step") for key in own), *((key, "epoch") for key in EPOCH_KEYS)):
        found = curves.get(f"{folder}.{key}" if folder else key)
        if found is not None and len(found) == count and np.isfinite(found).all():
            return found.astype(np.int64), "step" if axis == "step" else "epoch"
    return np.arange(1, count + 1), "epoch" if count <= 2000 else "index"
