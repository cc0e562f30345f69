"""How high a series stands and how much it moves."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

PEAK = 2.0


@function()
def min_of(values: FloatArray) -> float:
    """The lowest value."""
    return float(values.min())


@function()
def max_of(values: FloatArray) -> float:
    """The highest value."""
    return float(values.max())


@function()
def median_of(values: FloatArray) -> float:
    """The median."""
    return middle(values)


@function()
def rises(values: FloatArray) -> float:
    """Share of the points that lie above the one before them."""
    return float(np.mean(np.diff(values) > 0)) if len(values) > 1 else 0.0


@function(points=3)
def spread(values: FloatArray, after: float = 0) -> float | None:
    """Distance from the lowest to the highest value as a share of their median.

    Args:
        after: so many values at the beginning are left aside.
    """
    kept = values[int(after) :]
    if len(kept) < 3:
        return None
    level = abs(middle(kept))
    return float(kept.max() - kept.min()) / level if level > 0 else 0.0


@function(points=5, lacks="more digits")
def jitter(values: FloatArray, finest: float = 0.0) -> float | None:
    """Usual distance between neighbouring points of the second half, as a share of their level.

    Args:
        finest: unknown where the last digit that is written is a larger share of the level than this: what is
            rounded stands still.
    """
    half = values[len(values) // 2 :]
    level = middle(np.abs(half))
    if finest and _last_digit(values) > finest * level:
        return None
    return middle(np.abs(np.diff(half))) / level if level > 0 else 0.0


@function()
def peaks(values: FloatArray, times: float = PEAK) -> int:
    """How many values lie far above both of their neighbours.

    Args:
        times: how far, as a multiple of the higher neighbour.
    """
    return int((values[1:-1] > times * np.maximum(values[:-2], values[2:])).sum()) if len(values) > 2 else 0


def _last_digit(values: FloatArray) -> float:
    """The unit of the last decimal that is written, 0 where there are more than eight."""
    written = (10.0**-decimals for decimals in range(9) if np.array_equal(values, np.round(values, decimals)))
    return next(written, 0.0)
