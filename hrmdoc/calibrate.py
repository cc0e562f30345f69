"""Frequencies with their uncertainty: `leak` and `w` from counts of measured runs.

Many rules share few runs, so each rate is drawn towards what is usual for rates of its sort: a Beta prior, fitted to all of them
(empirical Bayes), then updated by the counts of the one rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma

from hrmdoc.rulebook import Rate

STRENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
MEANS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Prior:
    """A Beta distribution by its mean and by how many runs it is worth."""

    mean: float
    strength: float


def estimate(hits: int, runs: int, prior: Prior, basis: str) -> Rate:
    """Posterior mean and central 95 % interval of a frequency.

    Args:
        hits: runs in which the symptom showed.
        runs: runs in which it could be evaluated.
        prior: what is usual for rates of this sort.
        basis: what the runs were, for the reader of the rule.

    Raises:
        ValueError: more hits than runs, or a negative number.
    """
    if not 0 <= hits <= runs:
        raise ValueError(f"{hits} hits in {runs} runs")
    from scipy.special import betaincinv

    a = prior.mean * prior.strength + hits
    b = (1 - prior.mean) * prior.strength + runs - hits
    low, high = (float(betaincinv(a, b, tail)) for tail in (0.025, 0.975))
    return Rate(p=a / (a + b), low=low, high=high, basis=basis)


def fit_prior(counts: Sequence[tuple[int, int]]) -> Prior:
    """The Beta prior under which all (hits, runs) together are likeliest, from a grid of means and strengths.

    Without counts it is the flattest of the grid around one in a hundred.
    """
    informative = [(hits, runs) for hits, runs in counts if runs > 0]
    if not informative:
        return Prior(0.01, STRENGTHS[0])
    grid = [Prior(mean, strength) for mean in MEANS for strength in STRENGTHS]
    return max(grid, key=lambda prior: sum(_log_evidence(hits, runs, prior) for hits, runs in informative))


def _log_evidence(hits: int, runs: int, prior: Prior) -> float:
    """Log beta-binomial probability, without the binomial coefficient, which does not depend on the prior."""
    a, b = prior.mean * prior.strength, (1 - prior.mean) * prior.strength
    return _log_beta(a + hits, b + runs - hits) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
