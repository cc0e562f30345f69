"""What arithmetic alone says of two measures of the same answers."""

from __future__ import annotations

import math

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

_LAST = 3
_PERCENTS = 1.0
"""Accuracies above are percents."""


@function(points=4, lacks="errors")
def least_cost(accuracies: FloatArray) -> float | None:
    """The least mean cross-entropy of a model that is wrong as often as at the end of `accuracies`.

    A wrong answer was given no more than half of the probability, so it costs ln 2 at least. None where next
    to nothing or next to everything is wrong: then single answers decide.
    """
    share = middle(accuracies[-max(_LAST, len(accuracies) // 4) :])
    share /= 100.0 if np.max(accuracies) > _PERCENTS else 1.0
    return (1.0 - share) * math.log(2.0) if 0.02 < share < 0.9 else None
