"""pass@k: how often at least one of k programs that a model writes for a problem passes its tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z95 = 1.959963984540054  # the normal distribution's 97.5 % quantile


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % interval."""

    estimate: float
    low: float
    high: float


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The unbiased estimate for one problem: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374,
    equation 1).

    Args:
        samples: n programs were written, `passed` of them (c) pass.

    Raises:
        ValueError: k is more than n, so the programs say nothing of it.
    """
    if not 1 <= k <= samples or not 0 <= passed <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples of which {passed} passed, not {samples}")
    return 1 - math.comb(samples - passed, k) / math.comb(samples, k)


def mean_pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> Estimate:
    """pass@k over problems, each given as (samples, passed), with a Wilson score interval over the problems.

    A problem's estimate lies between 0 and 1, so its variance is at most that of a coin with the same mean:
    for one sample a problem the interval is Wilson's own, for more it is wider than need be. Unlike a
    bootstrap it says something of a model that solves none.
    """
    return wilson(math.fsum(pass_at_k(samples, passed, k) for samples, passed in counts), len(counts))


def difference(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]], k: int) -> Estimate:
    """Our pass@k less theirs on the same problems, with the adjusted Wald interval for paired shares (Agresti
    and Min 2005).

    Two models find the same problems hard, so the pairs show more than two intervals side by side.
    """
    pairs = [(pass_at_k(*a, k), pass_at_k(*b, k)) for a, b in zip(ours, theirs, strict=True)]
    alone = math.fsum(a * (1 - b) for a, b in pairs), math.fsum(b * (1 - a) for a, b in pairs)
    gain, count = alone[0] - alone[1], len(pairs) + 2
    half = Z95 * math.sqrt(alone[0] + alone[1] + 1 - gain * gain / count) / count
    return Estimate(gain / len(pairs), max(-1.0, gain / count - half), min(1.0, gain / count + half))


def wilson(successes: float, count: int) -> Estimate:
    """The share `successes / count` with its Wilson score interval (Wilson 1927). Of nothing, nothing is
    known: 0 to 1."""
    if count == 0:
        return Estimate(math.nan, 0.0, 1.0)
    share, square = successes / count, Z95 * Z95
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = Z95 / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    # At the ends the bounds are exactly 0 and 1; rounding would leave a trace.
    return Estimate(
        share, 0.0 if successes <= 0 else middle - half, 1.0 if successes >= count else middle + half
    )


def bootstrap(values: Sequence[float], seed: int, draws: int = 10_000) -> tuple[float, float]:
    """The 95 % percentile interval of a mean: problems are drawn anew, with replacement (Efron 1979).

    Where all values are the same it has no width, and says nothing of other problems; `wilson` does.

    Args:
        values: one for each problem, such as its pass@k or the difference of two models' pass@k.
    """
    if not values:
        return math.nan, math.nan
    rng, whole = np.random.default_rng(seed), np.asarray(values, np.float64)
    means = whole[rng.integers(len(whole), size=(draws, len(whole)))].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
