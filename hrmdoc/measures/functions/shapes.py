"""What the shape of a few printed values says by itself: turns, and prices of an error.

No scatter can be estimated from five points, so these look for what scatter does not do.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.record.records import FloatArray

FEWEST_RISES = 3
ONE_WRONG_IN = 10
"""A curve that turned once may move the other way at one of so many points."""


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
