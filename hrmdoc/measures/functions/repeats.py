"""Values that come again: no scatter does that, however few points there are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.function import Curve, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

FEWEST_AGAIN = 4
"""Values that must come again, three of them different, before that is no accident."""

LONG = 24
VARIED = 12
"""So many values, so many of them different, come again by no accident however few digits they have."""

MOST_PERIODS = 16
"""So many distances are tried, the shortest first: where more fit the values stand still."""

PERCENTS = 10.0
"""Accuracies above are percents: two of their decimals are worth four of a share."""


def _alike(values: FloatArray) -> FloatArray:
    """How many values up to each point are the same as it."""
    at = np.arange(len(values))
    changed = np.concatenate([[True], values[1:] != values[:-1]])
    lengths = at + 1 - np.maximum.accumulate(np.where(changed, at, 0))
    return lengths.astype(np.float64)


@function(course=_alike)
def repeated(values: FloatArray) -> int:
    """How many values at the end are the same, however few digits they have."""
    other = np.flatnonzero(values != values[-1])
    return len(values) - (int(other[-1]) + 1 if len(other) else 0)


def _unchanged_along(curve: Curve) -> FloatArray:
    """`unchanged` as of each point."""
    known = np.isfinite(curve.values)
    values = curve.values[known]
    if not len(values):
        return np.full(len(curve.values), np.nan)
    percents = curve.role.endswith("accuracy") & (values >= PERCENTS)
    rounded = np.where(percents, values == np.round(values, 1), values == np.round(values, 3))
    behind = np.cumsum(known) - 1
    answers = np.where(rounded, 0.0, _alike(values))[behind]
    return np.where(behind < 0, np.nan, answers)


@function("curve", course=_unchanged_along)
def unchanged(curve: Curve) -> int | None:
    """How many values at the end are the same to the last digit; 0 for values of three decimals or
    fewer, of percents two."""
    values = curve.values[np.isfinite(curve.values)]
    if not len(values):
        return None
    last = float(values[-1])
    percents = curve.role.endswith("accuracy") and last >= PERCENTS
    return 0 if last == round(last, 1 if percents else 3) else int(repeated(values))


def _precise(values: FloatArray) -> NDArray[np.bool_]:
    """Which values have more than three decimals, of percents more than one."""
    precise: NDArray[np.bool_] = values != np.where(
        values >= PERCENTS, np.round(values, 1), np.round(values, 3)
    )
    return precise


def _as_first_along(values: FloatArray) -> FloatArray:
    """`as_first` as of each point."""
    behind = np.cumsum(values == values[0]) - 1
    return np.where(np.cumsum(_precise(values)) > 0, behind, 0).astype(np.float64)


@function(points=2, course=_as_first_along)
def as_first(values: FloatArray) -> int:
    """How many values behind the first are the same as it; 0 where all have three decimals or fewer, of
    percents one."""
    return int((values[1:] == values[0]).sum()) if _precise(values).any() else 0


@function("curve")
def replayed(curve: Curve) -> int | None:
    """How many values at the end are, to the last digit, those that stood a few points before, in the
    same order.

    0 where all of them have three decimals or fewer, unless they are two dozen and varied and others stood
    before, and where the step counter falls back: a run logged twice.
    """
    values = curve.values[np.isfinite(curve.values)]
    if not len(values):
        return None
    return 0 if (np.diff(curve.steps) < 0).any() else _replayed(values)


def _replayed(values: FloatArray) -> int:
    last = len(values) - FEWEST_AGAIN
    if last < 3:
        return 0
    same = np.ones(
        last - 2, np.bool_
    )  # windows that begin at 0 ... last - 3 and hold what the last one holds
    for offset in range(FEWEST_AGAIN):
        same &= values[offset : offset + last - 2] == values[last + offset]
    for start in np.flatnonzero(same)[: -MOST_PERIODS - 1 : -1].tolist():
        period = last - start
        differs = np.flatnonzero(values[period:] != values[:-period])
        again = values[period + (int(differs[-1]) + 1 if len(differs) else 0) :]
        different = len(set(again.tolist()))
        if different >= 3 and not np.array_equal(again, np.round(again, 3)):
            return len(again)
        if len(again) >= LONG and different >= VARIED and len(differs):
            return len(again)
    return 0


@function()
def before_zero(values: FloatArray) -> float:
    """Level of the last values that are not zero, as a share of the first; infinite where all are."""
    height = np.abs(values)
    nonzero = height[height > 0]
    return float(middle(nonzero[-5:]) / nonzero[0]) if len(nonzero) else math.inf


_NOTHING = 1e-8
"""What a loss in usual units is next to nothing below."""


@function(points=2)
def small_unit(values: FloatArray) -> bool:
    """Whether a loss has such a unit that all of it lies below what is zero for others: hardly a value is
    zero, and they move."""
    height = np.abs(values)
    most = float(height.max())
    moves = float(np.ptp(values)) > 0.1 * most
    return most < _NOTHING and int(np.count_nonzero(height)) >= 0.9 * len(height) and moves


def _kept_until_zero_along(values: FloatArray) -> FloatArray:
    """`kept_until_zero` as of each point."""
    at = np.arange(len(values))
    before = np.maximum.accumulate(np.where(values != 0, at, -1))
    kept = np.minimum.accumulate(values)[before] / values[0]
    return np.where((values == 0) & (before >= 0) & (values[0] > 0), np.maximum(0.0, kept), 0.0)


@function(course=_kept_until_zero_along)
def kept_until_zero(values: FloatArray) -> float:
    """The lowest value before the zeros at the end, as a share of the first; 0 where the end is no zero,
    or a value before it was none or less."""
    other = np.flatnonzero(values)
    if values[-1] != 0 or not len(other):
        return 0.0
    before = values[: int(other[-1]) + 1]
    return max(0.0, float(before.min() / before[0])) if before[0] > 0 else 0.0
