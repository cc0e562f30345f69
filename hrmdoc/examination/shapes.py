"""What a few printed values tell by themselves: repeats, turns, and prices of an error. Pure functions over
arrays.

No scatter can be estimated from five points, so these look for what scatter does not do.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.pyramid import middle
from hrmdoc.record.run import FloatArray

FEWEST_AGAIN = 4
"""Values that must come again, three of them different, before that is no accident."""

MOST_PERIODS = 16
"""So many distances are tried, the shortest first: where more fit the values stand still."""

FEWEST_RISES = 3
ONE_WRONG_IN = 10
"""A curve that turned once may move the other way at one of so many points."""

PEAK = 2.0

SAME_PRICE = 0.03
"""Relative difference up to which wrong answers cost the same."""
FEWEST_WRONG = 0.05
"""Share of wrong answers below which their number is too coarse to divide by."""


def replayed(values: FloatArray) -> int:
    """How many values at the end are, to the last digit, those that stood a few points before, in the same
    order.

    0 where all of them have three decimals or fewer. `values` is finite, shape [n].
    """
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


def before_zeros(values: FloatArray) -> float:
    """Lowest of the values before the zeros at the end, as a share of the first one; shape [n], n >= 1.

    0 where the end is no zero, where a value before it was none or less, or where nothing stands before it.
    """
    other = np.flatnonzero(values)
    if values[-1] != 0 or not len(other):
        return 0.0
    before = values[: int(other[-1]) + 1]
    return max(0.0, float(before.min() / before[0])) if before[0] > 0 else 0.0


def spread(values: FloatArray) -> float:
    """Distance from the lowest to the highest value as a share of their median; shape [n], n >= 1."""
    level = abs(middle(values))
    return float(values.max() - values.min()) / level if level > 0 else 0.0


def peaks(values: FloatArray, times: float = PEAK) -> int:
    """How many inner values of shape [n] lie at more than so many `times` both of their neighbours."""
    return int((values[1:-1] > times * np.maximum(values[:-2], values[2:])).sum()) if len(values) > 2 else 0


def turned(values: FloatArray) -> float:
    """Share of all that was gained until the best value and has been given back since, in a curve that turned
    once.

    0 unless the values, shape [n], fall from the first to the lowest and rise from there to the last, three
    times at least, and hardly ever move the other way.
    """
    best = int(values.argmin())
    moves = np.diff(values)
    wrong = int((moves[:best] > 0).sum() + (moves[best:] < 0).sum())
    gained = float(values[0] - values[best])
    if best < 2 or len(moves) - best < FEWEST_RISES or ONE_WRONG_IN * wrong > len(values) or gained <= 0:
        return 0.0
    return float(values[-1] - values[best]) / gained


def per_error(losses: FloatArray, accuracies: FloatArray) -> float:
    """Loss for every wrong answer, 0 where it is not the same at each point; both of shape [n], accuracies
    may be percents.

    A model that learns grows surer or less sure of its errors. Saturated ones cost the logarithm they are
    clipped at, each time.
    """
    wrong = 1.0 - accuracies / (100.0 if accuracies.max() > 1.0 else 1.0)
    if wrong.min() < FEWEST_WRONG:
        return 0.0
    each = losses / wrong
    return middle(each) if each.max() - each.min() <= SAME_PRICE * middle(each) else 0.0
