"""How high a series stands and how much it moves."""

from __future__ import annotations

from bisect import insort

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

PEAK = 2.0
LONGEST = 10_000
"""Points up to which medians are followed from point to point, about 10 ms."""


@function(course=np.minimum.accumulate)
def min_of(values: FloatArray) -> float:
    """The lowest value."""
    return float(values.min())


@function(course=np.maximum.accumulate)
def max_of(values: FloatArray) -> float:
    """The highest value."""
    return float(values.max())


def _shares(values: FloatArray, points: float = 1) -> FloatArray | None:
    """`share` as of each point, where it is that of one point."""
    percents = np.maximum.accumulate(values) > 1.0
    return values / np.where(percents, 100.0, 1.0) if points == 1 else None


@function(course=_shares)
def share(values: FloatArray, points: float = 1) -> float:
    """The accuracy at the end, as a share of all answers: where it goes beyond 1, it is written in percents.

    Args:
        points: the median of so many of the last ones.
    """
    return middle(values[-max(1, int(points)) :]) / (100.0 if values.max() > 1.0 else 1.0)


def _medians(values: FloatArray) -> FloatArray | None:
    """The median as of each point, up to a length at which that is still quick."""
    if len(values) > LONGEST:
        return None
    ordered: list[float] = []
    medians = np.empty(len(values))
    for at, value in enumerate(values.tolist()):
        insort(ordered, value)
        middle_two = ordered[at // 2 : at // 2 + 2] if at % 2 else ordered[at // 2 : at // 2 + 1]
        medians[at] = sum(middle_two) / len(middle_two)
    return medians


@function(course=_medians)
def median_of(values: FloatArray) -> float:
    """The median."""
    return middle(values)


@function(course=lambda values: np.cumsum(_risen(values)) / np.maximum(1, np.arange(len(values))))
def rises(values: FloatArray) -> float:
    """Share of the points that lie above the one before them."""
    return float(_risen(values).sum() / max(1, len(values) - 1))


def _spread_along(values: FloatArray, after: float = 0) -> FloatArray | None:
    """`spread` as of each point."""
    start = int(after)
    kept = values[start:]
    medians = _medians(kept)
    if medians is None:
        return None
    level = np.abs(medians)
    width = np.maximum.accumulate(kept) - np.minimum.accumulate(kept) if len(kept) else kept
    answers = np.full(len(values), np.nan)
    answers[start:] = np.where(level > 0, width / level, 0.0)
    answers[: start + 2] = np.nan
    return answers


@function(points=3, course=_spread_along)
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


@function(points=9)
def tremor(values: FloatArray) -> float:
    """How far values scatter about one level, as a share of it, where none knows anything of the one before:
    no trend, neighbours that lie as far apart as any two, one width throughout. Infinite for any other curve.
    The first tenth, at most three values, is left aside."""
    kept = values[max(1, min(3, len(values) // 10)) :]
    level, width = abs(middle(kept)), float(kept.std())
    if not (level > 0 and width > 0):
        return float("inf")
    apart = (
        float((np.diff(kept) ** 2).mean()) / width**2
    )  # von Neumann's ratio: two where order means nothing
    trend = float(np.corrcoef(np.arange(len(kept)), kept)[0, 1])
    first, second = float(kept[: len(kept) // 2].std()), float(kept[len(kept) // 2 :].std())
    alike = 0.5 * first <= second <= 2 * first
    return width / level if apart >= 1.7 and abs(trend) <= 0.4 and alike else float("inf")


@function(course=lambda values, times=PEAK: np.cumsum(_peaked(values, times)))
def peaks(values: FloatArray, times: float = PEAK) -> int:
    """How many values lie far above both of their neighbours.

    Args:
        times: how far, as a multiple of the higher neighbour.
    """
    return int(_peaked(values, times).sum())


def _risen(values: FloatArray) -> NDArray[np.bool_]:
    """Which points lie above the one before them."""
    return np.concatenate([[False], np.diff(values) > 0])


def _peaked(values: FloatArray, times: float) -> NDArray[np.bool_]:
    """Behind which points a peak is known, that is one point later than it stands."""
    known = np.zeros(len(values), np.bool_)
    known[2:] = values[1:-1] > times * np.maximum(values[:-2], values[2:])
    return known


def _last_digit(values: FloatArray) -> float:
    """The unit of the last decimal that is written, 0 where there are more than eight."""
    written = (10.0**-decimals for decimals in range(9) if np.array_equal(values, np.round(values, decimals)))
    return next(written, 0.0)


@function(points=18)
def errors_gained(values: FloatArray) -> float:
    """How far the last third lies above the first, in standard errors of that difference; below 0 where it
    lies lower. What lies within three is no gain that the scatter of the points lets one see (Welch's t; the
    scatter is taken from point to point, which a steady course leaves as it is)."""
    before, after, error = _thirds(values)
    return (after - before) / error if error > 0 else float(np.sign(after - before)) * 1e9


@function(points=18)
def gained_at_most(values: FloatArray) -> float:
    """What the last third may at most have gained over the first, three standard errors beyond what shows."""
    before, after, error = _thirds(values)
    return after - before + 3.0 * error


def _thirds(values: FloatArray) -> tuple[float, float, float]:
    """Means of the first and of the last third, and the standard error of their difference."""
    third = len(values) // 3
    scatter = float(np.sqrt(np.mean(np.diff(values) ** 2) / 2.0))
    return float(values[:third].mean()), float(values[-third:].mean()), scatter * float(np.sqrt(2.0 / third))
