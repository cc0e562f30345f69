"""Values that come again: no scatter does that, however few points there are."""

from __future__ import annotations

import math

import numpy as np

from hrmdoc.measures.function import Curve, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

FEWEST_AGAIN = 4
"""Values that must come again, three of them different, before that is no accident."""

MOST_PERIODS = 16
"""So many distances are tried, the shortest first: where more fit the values stand still."""

PERCENTS = 10.0
"""Accuracies above are percents: two of their decimals are worth four of a share."""


@function()
def repeated(values: FloatArray) -> int:
    """How many values at the end are the same, however few digits they have."""
    other = np.flatnonzero(values != values[-1])
    return len(values) - (int(other[-1]) + 1 if len(other) else 0)


@function("curve")
def unchanged(curve: Curve) -> int | None:
    """How many values at the end are the same to the last digit; 0 for values of three decimals or
    fewer, of percents two."""
    values = curve.values[np.isfinite(curve.values)]
    if not len(values):
        return None
    last = float(values[-1])
    percents = curve.role.endswith("accuracy") and last >= PERCENTS
    return 0 if last == round(last, 1 if percents else 3) else int(repeated(values))


@function("curve")
def replayed(curve: Curve) -> int | None:
    """How many values at the end are, to the last digit, those that stood a few points before, in the
    same order.

    0 where all of them have three decimals or fewer, and where the step counter falls back: a run logged
    twice.
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
        if len(set(again.tolist())) >= 3 and not np.array_equal(again, np.round(again, 3)):
            return len(again)
    return 0


@function()
def before_zero(values: FloatArray) -> float:
    """Level of the last values that are not zero, as a share of the first; infinite where all are."""
    height = np.abs(values)
    nonzero = height[height > 0]
    return float(middle(nonzero[-5:]) / nonzero[0]) if len(nonzero) else math.inf


@function()
def kept_until_zero(values: FloatArray) -> float:
    """The lowest value before the zeros at the end, as a share of the first; 0 where the end is no zero,
    or a value before it was none or less."""
    other = np.flatnonzero(values)
    if values[-1] != 0 or not len(other):
        return 0.0
    before = values[: int(other[-1]) + 1]
    return max(0.0, float(before.min() / before[0])) if before[0] > 0 else 0.0
