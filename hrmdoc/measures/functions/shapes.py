"""What the shape of a few printed values says by itself: turns, and prices of an error.

No scatter can be estimated from five points, so these look for what scatter does not do.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

FEWEST_RISES = 3
ONE_WRONG_IN = 10
"""A curve that turned once may move the other way at one of so many points."""

SAME_PRICE = 0.03
"""Relative difference up to which wrong answers cost the same."""
FEWEST_WRONG = 0.05
"""Share of wrong answers below which their number is too coarse to divide by."""


@function()
def turned(values: FloatArray) -> float:
    """Share of all that was gained until the best value and has been given back since, in a curve that
    turned once.

    0 unless the values fall from the first to the lowest and rise from there to the last, three times at
    least, and hardly ever move the other way.
    """
    best = int(values.argmin())
    moves = np.diff(values)
    wrong = int((moves[:best] > 0).sum() + (moves[best:] < 0).sum())
    gained = float(values[0] - values[best])
    if best < 2 or len(moves) - best < FEWEST_RISES or ONE_WRONG_IN * wrong > len(values) or gained <= 0:
        return 0.0
    return float(values[-1] - values[best]) / gained


@function(roles=2, points=2)
def per_error(losses: FloatArray, accuracies: FloatArray) -> float | None:
    """Loss for every wrong answer, 0 where it is not the same at each point; accuracies may be percents.

    A model that learns grows surer or less sure of its errors. Saturated ones cost the logarithm they
    are clipped at, each time. Unknown unless both have as many points.
    """
    if len(losses) != len(accuracies):
        return None
    wrong = 1.0 - accuracies / (100.0 if accuracies.max() > 1.0 else 1.0)
    if wrong.min() < FEWEST_WRONG:
        return 0.0
    each = losses / wrong
    return middle(each) if each.max() - each.min() <= SAME_PRICE * middle(each) else 0.0
