"""The lab's measures."""

from __future__ import annotations

import math

import pytest

from benchmarks.lab.metrics import brier, delay, mean_reciprocal_rank, rank_of, reliability, wilson


def test_wilson_agrees_with_a_published_value() -> None:
    interval = wilson(81, 263)  # Newcombe, Statistics in Medicine 17 (1998), table I
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_wilson_stays_within_zero_and_one_and_is_not_empty_without_hits() -> None:
    none, every = wilson(0, 20), wilson(20, 20)
    assert none.low == 0.0
    assert 0.1 < none.high < 0.2
    assert every.high == 1.0
    assert every.low == pytest.approx(1 - none.high)


def test_wilson_of_no_runs_knows_nothing() -> None:
    interval = wilson(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert math.isnan(interval.p)
    assert str(interval) == "no runs"


@pytest.mark.parametrize(("hits", "runs"), [(3, 2), (-1, 5)])
def test_impossible_counts_are_refused(hits: int, runs: int) -> None:
    with pytest.raises(ValueError, match="hits in"):
        wilson(hits, runs)


def test_the_rank_is_that_of_the_first_true_cause() -> None:
    assert rank_of(["a", "b", "c"], ["c", "b"]) == 2
    assert rank_of(["a"], ["b"]) is None
    assert rank_of([], ["b"]) is None


def test_a_cause_that_was_not_named_counts_nothing_in_the_mean_reciprocal_rank() -> None:
    assert mean_reciprocal_rank([1, 2, None, 4]) == pytest.approx((1 + 0.5 + 0.25) / 4)
    assert math.isnan(mean_reciprocal_rank([]))


def test_the_delay_counts_logged_points_from_the_onset() -> None:
    steps = list(range(0, 200, 10))
    assert delay(steps, onset=95, seen=100) == 0
    assert delay(steps, onset=95, seen=130) == 3
    assert delay(steps, onset=100, seen=100, patience=3) == 2


def test_what_was_seen_before_the_onset_is_no_detection() -> None:
    assert delay(list(range(0, 200, 10)), onset=100, seen=60) is None


def test_brier_is_the_mean_squared_error_of_probabilities() -> None:
    assert brier([1.0, 0.0, 0.5], [True, False, True]) == pytest.approx(0.25 / 3)


def test_reliability_puts_every_claim_into_one_bin_and_leaves_empty_ones_out() -> None:
    bins = reliability([0.05, 0.06, 0.95, 1.0], [False, True, True, True])
    assert [(one.count, one.true) for one in bins] == [(2, 0.5), (2, 1.0)]
    assert sum(one.count for one in bins) == 4
