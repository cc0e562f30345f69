"""Where a series begins and ends."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import Curve, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray


def _first_steps(curve: Curve) -> FloatArray:
    if curve.axis == "epoch":
        return np.full(len(curve.steps), np.nan)
    return np.minimum.accumulate(curve.steps).astype(np.float64)


def _of_epochs(curve: Curve) -> FloatArray:
    return np.full(len(curve.steps), 1.0 if curve.axis == "epoch" else np.nan)


def _trailing_min(values: FloatArray, length: int) -> FloatArray:
    """The lowest of each value and those right before it, `length` of them where there are so many."""
    lowest = values.copy()
    for back in range(1, length):
        lowest[back:] = np.minimum(lowest[back:], values[:-back])
    return lowest


@function("curve", absent=0, course=lambda curve: np.arange(1, len(curve.values) + 1))
def count(curve: Curve) -> int:
    """How many points the role has; 0 where it is not logged."""
    return len(curve.values)


@function("curve", absent=0, course=lambda curve: np.cumsum(np.isfinite(curve.values)))
def finite(curve: Curve) -> int:
    """How many of its values are finite; 0 where it is not logged."""
    return int(np.isfinite(curve.values).sum())


@function("curve", course=lambda curve: np.maximum.accumulate(curve.steps))
def last_step(curve: Curve) -> int:
    """The highest step reached."""
    return int(curve.steps.max())


@function("curve", lacks="steps", course=_first_steps)
def first_step(curve: Curve) -> int | None:
    """The lowest step; unknown where the points count epochs, at the end of which many steps are done."""
    return None if curve.axis == "epoch" else int(curve.steps.min())


@function("curve", course=lambda curve: np.full(len(curve.values), curve.runs))
def starts(curve: Curve) -> int:
    """How many runs stand one behind the other in the same file, seen by a step counter that falls back
    to its beginning."""
    return curve.runs


@function("curve")
def from_start(curve: Curve) -> bool:
    """Whether the points begin where the training does: the first lies no further from step 0 than two points
    from one another, or a hundredth of the run, and not where a run before it ended."""
    if curve.goes_on:
        return False
    steps = np.sort(curve.steps)
    gaps = np.diff(steps)
    gaps = gaps[gaps > 0]  # np.unique would load numpy.ma
    if not len(gaps):
        return int(steps[0]) <= -1
    alike = gaps.min() == gaps.max()  # as those of most runs are, whose median need not be sought
    usual = float(gaps[0]) if alike else middle(gaps.astype(np.float64))
    return int(steps[0]) <= max(2 * usual, int(steps[-1]) / 100)


@function("curve", lacks="points of whole epochs", course=lambda curve: _of_epochs(curve))
def per_epoch(curve: Curve) -> bool | None:
    """True where the points are of whole epochs: means over many batches, which scatter less than those of
    single ones. Unknown where they are of anything else."""
    return True if curve.axis == "epoch" else None


@function(course=lambda values: np.broadcast_to(values[0], len(values)))
def first(values: FloatArray) -> float:
    """The first value."""
    return float(values[0])


@function(course=lambda values: values)
def last(values: FloatArray) -> float:
    """The last value."""
    return float(values[-1])


@function(course=lambda values: np.maximum.accumulate(values[np.minimum(np.arange(len(values)), 2)]))
def opening(values: FloatArray) -> float:
    """The highest of the first three values: where a series starts, noise allowed for."""
    return float(values[:3].max())


@function(course=lambda values: _trailing_min(values, 3))
def closing(values: FloatArray) -> float:
    """The lowest of the last three values: where a series that went up stands, single points above it
    left aside."""
    return float(values[-3:].min())
