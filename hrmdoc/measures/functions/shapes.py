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
STRAIGHT = 0.7
"""The second half of a straight fall gains at least this share of what the first did, and the first of the
second."""
SCATTER = 0.02
"""Share of the variance that a straight line may leave unexplained."""


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


@function(points=16)
def falls_straight(values: FloatArray) -> float:
    """Share of the first value that a curve loses that falls along a straight line to its end; 0 for one
    that bends, scatters or rises.

    What learns falls fast at first and ever less. A straight line is seen where the steps are so small that
    the slope is the same at the end as at the beginning.
    """
    count = len(values)
    at = np.arange(count) - (count - 1) / 2
    spread = values - values.mean()
    slope = float(at @ spread) / float(at @ at)
    left = spread - slope * at
    early, half, late = (_around(values, place) for place in (0, count // 2, count))
    first, second = early - half, half - late
    bends = second < STRAIGHT * first or second > first / STRAIGHT
    if values[0] <= 0 or first <= 0 or bends or float(left @ left) > SCATTER * float(spread @ spread):
        return 0.0
    return float(values[0] - values[-1]) / float(values[0])


def _around(values: FloatArray, at: int) -> float:
    """The level of a sixth of the curve: the first, that about the middle, or the last."""
    width = len(values) // 6
    begin = min(max(0, at - width // 2), len(values) - width)
    return middle(values[begin : begin + width])
