"""Results of evaluations that are printed as mappings, below or behind the name of the data they are of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


@pytest.mark.parametrize(("head", "side"), [("[TEST]\n", "test"), ("valid_results: ", "val")])
@pytest.mark.parametrize("rest", ["", ", 0.031, 0.022, 0.018, 0.015"])
def test_results_are_of_the_data_that_is_named_before_them_and_of_the_epoch_they_stand_below(
    head: str, side: str, rest: str, read: Any
) -> None:
    results = head + "{{'ndcg': array([0.{0}{1}]), 'recall': array([0.1{0}{1}])}}\n"
    log = "".join(
        results.format(n, rest) + "".join(f"EPOCH[{at}/9] loss0.{9 - at}\n" for at in (2 * n - 1, 2 * n))
        for n in (1, 2, 3, 4)
    )
    run = read(log)
    assert points(run, f"{side}_ndcg") == [(0, 0.1), (2, 0.2), (4, 0.3), (6, 0.4)]
    assert points(run, f"{side}_recall") == [(0, 0.11), (2, 0.12), (4, 0.13), (6, 0.14)]
    assert len(points(run, "loss")) == 8


def test_the_record_of_a_step_below_a_heading_is_none_of_an_evaluation(read: Any) -> None:
    log = "".join(
        f"Validation:\n{{'eval_loss': 0.{n}, 'epoch': {n}}}\n"
        f"Testing:\n{{'loss': 0.{n}5, 'learning_rate': 0.1, 'epoch': {n}}}\n"
        for n in (1, 2, 3)
    )
    assert {key.metric for key in read(log).series} == {"loss", "eval_loss", "learning_rate", "epoch"}


def test_what_a_discriminator_learns_in_turn_with_its_generator_is_no_loss_of_the_model(read: Any) -> None:
    rows = "".join(f"Epoch {n}, train loss: {{0}}.{n}, eval loss: {{0}}.{n}5\n" for n in (1, 2, 3))
    stages = "#Train generator\n", "##### Start training the discriminator... #####\n"
    log = "".join(stage + rows.format(at) for at, stage in enumerate(stages, 1))
    run = read(log + "dis eval acc: 0.5\n")
    assert [value for _, value in points(run, "train loss")] == [1.1, 1.2, 1.3]
    assert [value for _, value in points(run, "discriminator train loss")] == [2.1, 2.2, 2.3]
    assert {series.role.role for key, series in run.series.items() if "dis" in key.metric} == {None}
    # by itself it may be said once for all that follows, or be a setting
    for alone in (
        stages[1],
        "train generator: 5000 images\n",
        "Train generator\nTraining discriminator: True\n",
    ):
        assert len(points(read(alone + rows.format(1)), "train loss")) == 3
