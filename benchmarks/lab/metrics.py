"""How good a set of verdicts is: intervals, ranks, delays, calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Proportion:
    """`hits` of `runs` with Wilson's 95 % interval."""

    hits: int
    runs: int
    low: float
    high: float

    @property
    def p(self) -> float:
        return self.hits / self.runs if self.runs else math.nan

    def __str__(self) -> str:
        if not self.runs:
            return "no runs"
        return (
            f"{self.hits}/{self.runs} = {100 * self.p:.0f} % ({100 * self.low:.0f} to {100 * self.high:.0f})"
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Hypotheses whose stated probability lies in [low, high): how many, the mean stated, and the share that
    was true."""

    low: float
    high: float
    count: int
    stated: float
    true: float


def wilson(hits: int, runs: int) -> Proportion:
    """Wilson's score interval (E. B. Wilson, JASA 22, 1927).

    Raises:
        ValueError: more hits than runs, or a negative number.
    """
    if not 0 <= hits <= runs:
        raise ValueError(f"{hits} hits in {runs} runs")
    if runs == 0:
        return Proportion(0, 0, 0.0, 1.0)
    p, z2 = hits / runs, Z_95**2
    middle = (p + z2 / (2 * runs)) / (1 + z2 / runs)
    half = Z_95 / (1 + z2 / runs) * math.sqrt(p * (1 - p) / runs + z2 / (4 * runs**2))
    return Proportion(hits, runs, max(0.0, middle - half), min(1.0, middle + half))


def rank_of(named: Sequence[str], true: Sequence[str]) -> int | None:
    """1-based place of the first of `named` that is true, None when none is."""
    return next((place for place, cause in enumerate(named, 1) if cause in true), None)


def mean_reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """Mean of 1 / rank, 0 for what was not named; NaN without runs."""
    return sum(1 / rank for rank in ranks if rank) / len(ranks) if ranks else math.nan


def delay(steps: Sequence[int], onset: int, seen: int, patience: int = 1) -> int | None:
    """Logged points from the first one that is affected to the one at which a symptom opened.

    Args:
        steps: steps at which the run logged, rising.
        onset: first step affected.
        seen: step at which the symptom's streak began.
        patience: points that the streak had to last.

    Returns:
        0 when it opened on the first point affected; None when it had begun before, which is no detection of
        this fault.
    """
    affected = [step for step in steps if step >= onset]
    before = sum(step < seen for step in affected)
    if seen < onset and seen not in affected:
        return None
    return before + patience - 1


def brier(stated: Sequence[float], true: Sequence[bool]) -> float:
    """Mean squared difference between probabilities and outcomes; NaN without any."""
    return (
        sum((p - float(y)) ** 2 for p, y in zip(stated, true, strict=True)) / len(stated)
        if stated
        else math.nan
    )


def reliability(
    stated: Sequence[float],
    true: Sequence[bool],
    edges: Sequence[float] = (0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0),
) -> list[Bin]:
    """Stated probabilities against the share that was true, in bins; empty bins are left out."""
    bins = []
    for low, high in pairwise(edges):
        inside = [
            (p, y) for p, y in zip(stated, true, strict=True) if low <= p < high or (p == high == edges[-1])
        ]
        if inside:
            count = len(inside)
            bins.append(
                Bin(low, high, count, sum(p for p, _ in inside) / count, sum(y for _, y in inside) / count)
            )
    return bins
