"""What is told at the end, by the names of series and the bounds of what they say."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.measures.function import Member
from hrmdoc.measures.functions import hits, told
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles.families import Families, classify
from hrmdoc.roles.quantities import Meanings
from hrmdoc.rulebook import load


def shown(function: object, series: dict[str, list[float]], *numbers: float) -> str | None:
    """The metric of the series that the function answers with, of those that its rule would show it."""
    run = Run("case", role_of=lambda name: RoleGuess("train.score" if "@" in name else None))
    for name, values in series.items():
        steps = np.arange(len(values), dtype=np.int64)
        run.add(Points(name, steps, np.array(values), np.full(len(values), np.nan), "case.log"))
    classify(run, Families(load().families.values()), Meanings(load().quantities.values()))
    members = [
        Member(one, one.values)
        for one in run.series.values()
        if one.nature.family in function.families  # type: ignore[attr-defined]
        and function.among(one)  # type: ignore[attr-defined]
        and len(one) >= function.points  # type: ignore[attr-defined]
    ]
    found = function(members, *numbers)  # type: ignore[operator]
    return None if found is None else str(found.key.metric)


@pytest.mark.parametrize(("adjusted", "guessed"), [(0.099, True), (0.1, False), (-0.2, True)])
def test_a_tenth_above_chance_is_more_than_a_guess(adjusted: float, guessed: bool) -> None:
    name = "adjusted balanced accuracy (report)"
    series = {name: [0.5, adjusted], "accuracy (report)": [0.3]}
    assert (shown(told.answers_as_guessed, series) == name) is guessed


@pytest.mark.parametrize(
    ("right", "adjusted", "missed"),
    [(0.8, 0.39, True), (0.79, 0.3, False), (0.9, 0.45, False), (0.9, 0.1, True), (0.9, 0.099, False)],
)
def test_the_rare_are_missed_where_less_than_half_is_left_of_a_high_accuracy(
    right: float, adjusted: float, missed: bool
) -> None:
    name = "adjusted balanced accuracy (report)"
    series = {"accuracy (report)": [right], "macro f1 (report)": [0.5], name: [adjusted]}
    assert (shown(told.rare_missed, series) == name) is missed


@pytest.mark.parametrize(
    ("terms", "name", "error", "wrong"),
    [
        (["Loss_f", "Loss_u"], "Error u", 0.5, True),
        (["Loss_f", "Loss_u"], "Error u", 0.49, False),
        (["Loss_f"], "Error u", 0.9, False),
        (["loss_pde"], "Error v", 7.0, True),
        (["bc loss"], "relative L2 error", 1.9, True),
        (["bc loss"], "relative L2 error", 2.0, False),
        (["bc loss"], "test error", 0.9, False),
        (["cls loss"], "Error u", 0.9, False),
    ],
)
def test_an_error_of_half_the_size_of_a_solution_is_wrong(
    terms: list[str], name: str, error: float, wrong: bool
) -> None:
    series = {**{term: [1.0, 0.1] for term in terms}, name: [error]}
    assert (shown(told.solution_wrong, series) == name) is wrong


@pytest.mark.parametrize(
    ("name", "values", "items", "guessed"),
    [
        ("val_hit@10", [0.04, 0.07, 0.075, 0.075], 200.0, True),
        ("val_hit@10", [0.04, 0.07, 0.076, 0.076], 200.0, False),
        ("val_hit@10", [0.101, 0.05, 0.05, 0.05], 200.0, False),
        ("val_hit@10", [0.1, 0.05, 0.05, 0.05], 200.0, True),
        ("val_hit@10", [0.2] * 4, 49.0, False),
        ("val_hit@10", [0.0] * 4, 0.0, False),
        ("train_hit@10", [0.05] * 4, 200.0, False),
        ("val_ndcg@10", [0.05] * 4, 200.0, False),
        ("test Recall@20", [5.0, 6.0, 6.0], 300.0, True),
    ],
)
def test_k_of_all_items_are_found_by_a_random_order(
    name: str, values: list[float], items: float, guessed: bool
) -> None:
    assert (shown(hits.ranked_as_guessed, {name: values}, items) == name) is guessed


@pytest.mark.parametrize(
    ("values", "hardly"),
    [([0.0, 0.069, 0.0, 0.0, 0.0], True), ([0.07] * 5, False), ([0.01, 3.0] * 3, False), ([-0.1] * 5, False)],
)
def test_seven_successes_in_a_hundred_are_some(values: list[float], hardly: bool) -> None:
    assert (shown(told.hardly_succeeds, {"eval/success_rate": values}) is not None) is hardly


@pytest.mark.parametrize(
    ("series", "named"),
    [
        ({"val_acc": [0.8] * 5, "test_acc": [0.63]}, "test_acc"),
        ({"val_acc": [0.8] * 5, "test_acc": [0.66]}, None),
        ({"val_acc": [0.8] * 4, "test_acc": [0.6]}, None),
        ({"val_acc": [0.8] * 5, "test_acc": [0.6] * 3}, None),
        ({"val_acc": [0.8] * 5, "test f1": [0.3]}, None),
        ({"val f1": [0.8] * 5, "test f1": [0.3]}, "test f1"),
        ({"train_acc": [0.8] * 5, "test_acc": [0.3]}, None),
        ({"train score": [0.95], "test score": [0.64]}, "test score"),
        ({"train score": [0.94], "test score": [0.3]}, None),
        ({"train score": [0.99], "val_acc": [0.65] * 5, "test score": [0.64]}, None),
        ({"test_acc": [0.3]}, None),
        ({"cnn.val_acc": [0.8] * 5, "rnn.test_acc": [0.3]}, None),
        ({"cnn.val_acc": [0.8] * 5, "cnn.test_acc": [0.3]}, "cnn.test_acc"),
    ],
)
def test_a_test_is_compared_with_scores_of_its_sort(
    series: dict[str, list[float]], named: str | None
) -> None:
    assert shown(told.tested_far_below, series) == named


def test_of_several_runs_in_a_file_nobody_says_whose_the_test_is() -> None:
    run = Run("case", role_of=lambda _: RoleGuess(None))
    for name, values in (("val_acc", [0.8] * 10), ("test_acc", [0.3])):
        steps = np.arange(len(values), dtype=np.int64)
        run.add(Points(name, steps, np.array(values), np.full(len(values), np.nan), "case.log"))
    classify(run, Families(load().families.values()), Meanings(load().quantities.values()))
    curve, test = run.series.values()
    whole, last = Member(curve, curve.values), Member(curve, curve.values[5:])
    assert told.tested_far_below([whole, Member(test, test.values)]) is test
    assert told.tested_far_below([last, Member(test, test.values)]) is None


def of_run(function: object, series: dict[str, list[float]], *numbers: float) -> str | None:
    """The same of a function of the whole run, whose held-out loss is `eval.loss`."""
    run = Run("case", role_of=lambda name: RoleGuess(name if name == "eval.loss" else None))
    for name, values in series.items():
        steps = np.arange(len(values), dtype=np.int64)
        run.add(Points(name, steps, np.array(values), np.full(len(values), np.nan), "case.log"))
    classify(run, Families(load().families.values()), Meanings([]))
    found = function(run, *numbers)  # type: ignore[operator]
    return None if found is None else str(found.key.metric)


def test_a_test_is_apart_where_it_costs_two_nats_and_twice_as_much() -> None:
    def apart(test: list[float], validation: list[float], name: str = "Test Loss") -> bool:
        return of_run(told.test_loss_apart, {"eval.loss": validation, name: test}) == name

    assert apart([4.1], [3.0, 2.5, 2.0, 2.0, 2.0])
    assert not apart([4.0], [3.0, 2.5, 2.0, 2.0, 2.0]), "two nats"
    assert not apart([5.9], [3.0, 3.0, 3.0, 3.0, 3.0]), "not twice"
    assert not apart([9.0], [3.0, 2.5, 2.0, 8.0, 2.0]), "the validation was near it"
    assert not apart([9.0, 9.0, 9.0], [2.0] * 5), "a curve of its own"
    assert not apart([9.0], [2.0] * 4), "too few"
    assert not apart([9.0], [2.0] * 5, "Test Accuracy")


def test_what_was_kept_is_far_from_the_best_where_its_score_is() -> None:
    rises = {"val accuracy": [0.2, 0.5, 0.6, 0.8, 1.0]}
    assert of_run(told.best_kept_elsewhere, rises, 2) == "val accuracy"
    assert of_run(told.best_kept_elsewhere, rises, 3) is None
    assert of_run(told.best_kept_elsewhere, rises, 2.5) == "val accuracy", "nearest to it"
    assert of_run(told.best_kept_elsewhere, rises, -0.6) is None, "no evaluation near that step"
    assert of_run(told.best_kept_elsewhere, {"accuracy": rises["val accuracy"]}, 0) is None
    assert of_run(told.best_kept_elsewhere, {"val loss": rises["val accuracy"]}, 0) is None
