"""Rates from counts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.beta import Prior, estimate


def test_without_runs_a_rate_is_its_prior() -> None:
    rate = estimate(0, 0, Prior(0.1, 10), "none")
    assert rate.p == pytest.approx(0.1)
    assert rate.low < 0.1 < rate.high
    assert rate.basis == "none"


def test_zero_hits_in_few_runs_is_no_proof_of_zero() -> None:
    few, many = estimate(0, 5, Prior(0.05, 2), "x"), estimate(0, 500, Prior(0.05, 2), "x")
    assert 0 < many.p < few.p < 0.05
    assert many.high < few.high


def test_with_many_runs_the_counts_decide() -> None:
    rate = estimate(300, 1000, Prior(0.01, 4), "x")
    assert rate.p == pytest.approx(0.3, abs=0.01)
    assert rate.high - rate.low < 0.06


def test_the_interval_covers_the_true_rate_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    true = rng.beta(2, 18, 2000)
    hits = rng.binomial(40, true)
    rates = [estimate(int(h), 40, Prior(0.1, 20), "x") for h in hits]
    covered = np.mean([r.low <= t <= r.high for r, t in zip(rates, true, strict=True)])
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize(("hits", "runs"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(hits: int, runs: int) -> None:
    with pytest.raises(ValueError, match="hits in"):
        estimate(hits, runs, Prior(0.1, 2), "x")
