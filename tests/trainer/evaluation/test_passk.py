import itertools
import math

import numpy as np
import pytest

from hrmdoc.trainer.evaluation.passk import difference, mean_pass_at_k, pass_at_k, wilson


@pytest.mark.parametrize(
    ("samples", "passed", "k"), [(1, 0, 1), (5, 0, 3), (5, 2, 1), (5, 2, 3), (6, 4, 2), (6, 6, 6), (4, 1, 4)]
)
def test_the_estimate_is_the_share_of_choices_of_k_that_hold_a_program_that_passes(samples, passed, k):
    choices = list(itertools.combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_at_k(samples, passed, k) == pytest.approx(
        sum(any(choice) for choice in choices) / len(choices)
    )


def test_the_estimate_is_unbiased():
    share, samples, k = 0.3, 8, 3
    chance = [math.comb(samples, c) * share**c * (1 - share) ** (samples - c) for c in range(samples + 1)]
    mean = sum(p * pass_at_k(samples, c, k) for c, p in enumerate(chance))
    assert mean == pytest.approx(1 - (1 - share) ** k)


@pytest.mark.parametrize(("samples", "passed", "k"), [(3, 0, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_what_the_programs_cannot_show_is_refused(samples, passed, k):
    with pytest.raises(ValueError, match="needs at least"):
        pass_at_k(samples, passed, k)


def test_a_model_that_solves_nothing_has_an_interval_all_the_same():
    found = mean_pass_at_k([(1, 0)] * 100, 1)
    assert (found.estimate, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.0370, abs=1e-4)  # z^2 / (n + z^2)


def test_the_interval_holds_the_true_share_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = [wilson(found, 60) for found in rng.binomial(60, 0.2, 4000)]
    assert 0.93 < np.mean([w.low <= 0.2 <= w.high for w in held]) < 0.97


def test_the_difference_of_two_models_is_paired():
    ours, theirs = [(1, 1)] * 30 + [(1, 0)] * 70, [(1, 1)] * 20 + [(1, 0)] * 80
    found = difference(ours, theirs, 1)
    assert found.estimate == pytest.approx(0.1)
    # 10 problems that we alone solve, none that they alone do: Agresti and Min's adjusted Wald interval.
    half = 1.959964 * np.sqrt(11 - 100 / 102) / 102
    assert (found.low, found.high) == pytest.approx((10 / 102 - half, 10 / 102 + half), abs=1e-6)
    unpaired = wilson(30, 100).high - wilson(30, 100).low + wilson(20, 100).high - wilson(20, 100).low
    assert found.high - found.low < unpaired


def test_two_models_that_solve_nothing_are_not_known_to_be_equal():
    found = difference([(2, 0)] * 50, [(2, 0)] * 50, 1)
    assert found.estimate == 0.0
    assert found.low == -found.high < 0


def test_the_interval_of_nothing_is_everything():
    found = wilson(0, 0)
    assert math.isnan(found.estimate)
    assert (found.low, found.high) == (0.0, 1.0)
