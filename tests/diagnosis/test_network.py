"""The belief network against brute force, and the reasoning people expect of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hrmdoc.diagnosis import network
from hrmdoc.diagnosis.network import Observed, benign_share, infer, information_gain, leave_one_out


def random_findings(seed: int, n: int, present: int, absent: int) -> Observed:
    rng = np.random.default_rng(seed)

    def weights(columns: int) -> np.ndarray:
        return rng.uniform(0.05, 0.9, (n, columns)) * (rng.random((n, columns)) < 0.4)

    return Observed(
        rng.uniform(0.01, 0.3, n), weights(present), rng.uniform(0.001, 0.1, present), weights(absent)
    )


def brute_force(observed: Observed, largest: int = 3) -> tuple[np.ndarray, float]:
    """Marginals and P(no cause), from the definition, set by set."""
    n = len(observed.prior)
    mass, total, empty = np.zeros(n), 0.0, 0.0
    for size in range(min(largest, n) + 1):
        for chosen in itertools.combinations(range(n), size):
            at_work = np.isin(np.arange(n), chosen)
            weight = float(np.prod(np.where(at_work, observed.prior, 1 - observed.prior)))
            weight *= float(np.prod(1 - observed.absent[list(chosen)]))
            weight *= float(
                np.prod(1 - (1 - observed.present_leak) * np.prod(1 - observed.present[list(chosen)], axis=0))
            )
            total += weight
            mass[at_work] += weight
            empty += weight * (size == 0)
    return mass / total, empty / total


@pytest.mark.parametrize("seed", range(12))
def test_marginals_equal_enumeration_of_every_set_of_up_to_three_causes(seed: int) -> None:
    observed = random_findings(seed, n=4 + seed, present=1 + seed % 5, absent=seed % 7)
    expected, empty = brute_force(observed)
    posterior = infer(observed)
    np.testing.assert_allclose(posterior.marginal, expected, atol=1e-9, rtol=0)
    assert posterior.empty == pytest.approx(empty, abs=1e-9)
    assert posterior.weight.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_with_at_most_three_causes_nothing_is_truncated_away(n: int) -> None:
    observed = random_findings(40 + n, n, present=3, absent=3)
    expected, _ = brute_force(observed, largest=n)
    np.testing.assert_allclose(infer(observed).marginal, expected, atol=1e-9, rtol=0)


def test_without_present_findings_the_empty_set_is_the_likeliest() -> None:
    observed = random_findings(3, n=8, present=0, absent=6)
    expected, empty = brute_force(observed)
    posterior = infer(observed)
    np.testing.assert_allclose(posterior.marginal, expected, atol=1e-9, rtol=0)
    assert posterior.empty == pytest.approx(empty, abs=1e-9)
    assert posterior.weight.tolist() == [1.0]


def test_no_causes_at_all_leaves_only_health() -> None:
    posterior = infer(Observed(np.empty(0), np.empty((0, 2)), np.array([0.01, 0.02]), np.empty((0, 1))))
    assert posterior.empty == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_leave_one_out_equals_inference_without_that_finding(seed: int) -> None:
    observed = random_findings(70 + seed, n=7, present=4, absent=3)
    causes = np.flatnonzero((observed.present > 0).any(axis=1))
    shift, counter = leave_one_out(observed, infer(observed), causes)

    def log_odds(p: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(p / (1 - p)))

    full = log_odds(brute_force(observed)[0])
    for j in range(4):
        others = [k for k in range(4) if k != j]
        less = Observed(
            observed.prior, observed.present[:, others], observed.present_leak[others], observed.absent
        )
        np.testing.assert_allclose(shift[j], (full - log_odds(brute_force(less)[0]))[causes], atol=1e-7)
    for j in range(3):
        less = Observed(
            observed.prior, observed.present, observed.present_leak, np.delete(observed.absent, j, axis=1)
        )
        np.testing.assert_allclose(counter[j], (full - log_odds(brute_force(less)[0]))[causes], atol=1e-7)


def test_a_rival_that_explains_the_finding_takes_probability_away() -> None:
    alone = infer(Observed(np.array([0.05]), np.array([[0.8]]), np.array([0.01]), np.empty((1, 0))))
    rivals = infer(
        Observed(np.array([0.05, 0.2]), np.array([[0.8], [0.8]]), np.array([0.01]), np.empty((2, 0)))
    )
    assert alone.marginal[0] > 0.7
    assert rivals.marginal[0] < 0.3 < rivals.marginal[1]


def test_two_faults_with_separate_findings_are_both_likely() -> None:
    w = np.array([[0.8, 0.7, 0.0, 0.0], [0.0, 0.0, 0.8, 0.7], [0.3, 0.0, 0.3, 0.0]])
    posterior = infer(Observed(np.full(3, 0.02), w, np.full(4, 0.01), np.empty((3, 0))))
    assert posterior.marginal[0] > 0.95
    assert posterior.marginal[1] > 0.95
    assert posterior.marginal[2] < 0.1


def test_an_absent_finding_counts_against_what_would_have_produced_it() -> None:
    def probability(absent: list[list[float]]) -> float:
        return float(
            infer(Observed(np.array([0.05]), np.array([[0.8]]), np.array([0.01]), np.array(absent))).marginal[
                0
            ]
        )

    assert probability([[0.9]]) < probability([[0.3]]) < probability([[]])


def test_pruning_is_reported_and_harmless_in_a_large_network() -> None:
    rng = np.random.default_rng(5)
    n, present, absent = 110, 15, 45
    w = rng.uniform(0.1, 0.9, (n, present + absent)) * (rng.random((n, present + absent)) < 0.1)
    posterior = infer(Observed(np.full(n, 0.01), w[:, :present], np.full(present, 0.01), w[:, present:]))
    assert posterior.weight.sum() == pytest.approx(1.0)
    assert ((posterior.marginal >= 0) & (posterior.marginal <= 1)).all()
    assert 0 <= posterior.truncated <= 1


def test_many_independent_faults_show_as_truncated_mass() -> None:
    few = infer(Observed(np.full(6, 0.02), np.eye(6)[:, :1] * 0.9, np.full(1, 0.01), np.empty((6, 0))))
    many = infer(Observed(np.full(6, 0.02), np.eye(6) * 0.9, np.full(6, 0.001), np.empty((6, 0))))
    assert few.truncated < 0.01 < 0.5 < many.truncated


def test_benign_share_is_the_part_that_no_real_cause_needs_to_explain() -> None:
    benign = np.array([True, False])
    w, leak = np.array([[0.8, 0.0], [0.2, 0.9]]), np.array([0.01, 0.01])
    harmless = infer(Observed(np.array([0.2, 0.01]), w[:, :1], leak[:1], w[:, 1:]))
    assert benign_share(harmless, w[:, :1], leak[:1], benign)[0] > 0.9
    faulty = infer(Observed(np.array([0.2, 0.01]), w, leak, np.empty((2, 0))))
    assert benign_share(faulty, w, leak, benign)[1] < 0.01


def test_a_question_with_the_same_answer_everywhere_tells_nothing() -> None:
    weight = np.array([0.5, 0.3, 0.2])
    gain = information_gain(weight, np.array([[0.3, 0.99], [0.3, 0.01], [0.3, 0.01]]))
    assert gain[0] == pytest.approx(0.0, abs=1e-9)
    assert gain[1] > 0.5


@pytest.mark.parametrize("n", [1, 2])
def test_with_fewer_than_three_causes_nothing_can_be_truncated(n: int) -> None:
    assert infer(random_findings(40 + n, n, present=3, absent=3)).truncated == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_what_pruning_leaves_out_is_no_more_than_is_told(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    observed = random_findings(90 + seed, n=10, present=4, absent=3)
    whole = infer(observed)
    monkeypatch.setattr(network, "NEGLIGIBLE", 1.0)
    pruned = infer(observed)
    assert len(pruned.members) < len(whole.members)
    assert whole.truncated < pruned.truncated
    assert (np.abs(pruned.marginal - whole.marginal) <= pruned.truncated).all()


def test_a_frequency_or_a_prior_of_one_or_zero_is_taken_as_nearly_so() -> None:
    posterior = infer(
        Observed(np.array([1.0, 0.0]), np.array([[1.0], [1.0]]), np.array([0.0]), np.array([[1.0], [0.0]]))
    )
    assert np.isfinite(posterior.marginal).all()
    assert posterior.weight.sum() == pytest.approx(1.0)


def test_the_likeliest_sets_come_best_first_and_no_more_than_asked_for() -> None:
    posterior = infer(random_findings(3, n=6, present=2, absent=2))
    best = posterior.likeliest(4)
    assert posterior.weight[best].tolist() == sorted(posterior.weight, reverse=True)[:4]


def test_a_set_contains_its_own_causes() -> None:
    posterior = infer(random_findings(3, n=6, present=2, absent=2))
    asked = np.array([0, 5])
    assert posterior.contains(asked).tolist() == [
        [cause in members for cause in asked] for members in posterior.members.tolist()
    ]


@pytest.mark.parametrize("seed", range(6))
def test_what_sets_of_more_than_three_causes_would_have_is_told_about_right(seed: int) -> None:
    observed = random_findings(120 + seed, n=9, present=6, absent=2)
    _, part = brute_force(observed, largest=3)
    _, whole = brute_force(observed, largest=9)
    missing = 1.0 - whole / part
    assert missing / 3 <= infer(observed).truncated <= 3 * missing + 0.01
