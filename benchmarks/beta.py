"""A frequency with its uncertainty, from counts of measured runs and what was held usual before: a Beta
distribution."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from hrmdoc.rulebook import Rate


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
    a = prior.mean * prior.strength + hits
    b = (1 - prior.mean) * prior.strength + runs - hits
    low, high = (float(betaincinv(a, b, tail)) for tail in (0.025, 0.975))
    return Rate(p=a / (a + b), low=low, high=high, basis=basis)
