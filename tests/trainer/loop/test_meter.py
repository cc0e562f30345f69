from __future__ import annotations

import math

import pytest
import torch

from hrmdoc.trainer.loop.meter import Meter, finite
from hrmdoc.trainer.model.gradients import Sums


def sums(count: float, accuracy: float = 0.0, loss: float = 8.0) -> Sums:
    halted = {
        "count": count,
        "accuracy": accuracy,
        "exact_accuracy": 0.0,
        "q_halt_accuracy": count,
        "steps": 4 * count,
    }
    found = {**halted, "lm_loss": loss, "q_halt_loss": 1.0}
    return Sums(tuple(found), torch.tensor([float(value) for value in found.values()]))


def test_losses_are_means_over_examples_and_accuracies_over_halted_rows() -> None:
    meter = Meter(examples=4)
    meter.add(sums(count=2, accuracy=1.5))
    meter.close_step(1, torch.tensor(0.5), {"train/lr": 1e-3})
    (step,) = meter.fetch()
    assert step.values == {
        "train/lm_loss": 2.0,
        "train/q_halt_loss": 0.25,
        "train/count": 2.0,
        "train/accuracy": 0.75,
        "train/exact_accuracy": 0.0,
        "train/q_halt_accuracy": 1.0,
        "train/steps": 4.0,
        "train/grad_norm": 0.5,
        "train/lr": 1e-3,
    }


def test_a_step_in_which_no_row_halted_has_no_accuracy() -> None:
    meter = Meter(examples=4)
    meter.add(sums(count=0))
    meter.close_step(1, torch.tensor(0.5), {})
    (step,) = meter.fetch()
    assert set(step.values) == {"train/lm_loss", "train/q_halt_loss", "train/count", "train/grad_norm"}


def test_micro_batches_of_a_step_add_up() -> None:
    meter = Meter(examples=8)
    meter.add(sums(count=1, accuracy=1.0))
    meter.add(sums(count=3, accuracy=1.0))
    meter.close_step(1, torch.tensor(0.5), {})
    values = meter.fetch()[0].values
    assert (values["train/lm_loss"], values["train/count"], values["train/accuracy"]) == (2.0, 4.0, 0.5)


def test_every_step_is_fetched_once_in_order() -> None:
    meter = Meter(examples=4)
    for step in (1, 2, 3):
        meter.add(sums(count=1))
        meter.close_step(step, torch.tensor(1.0), {})
    assert [found.step for found in meter.fetch()] == [1, 2, 3]
    assert meter.fetch() == []


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_or_gradient_that_is_no_number_is_noticed(bad: float) -> None:
    meter = Meter(examples=4)
    for loss, norm in ((8.0, 1.0), (bad, 1.0), (8.0, bad)):
        meter.add(sums(count=1, loss=loss))
        meter.close_step(1, torch.tensor(norm), {})
    fetched = meter.fetch()
    assert [finite(found.values) for found in fetched] == [True, False, False]
    assert [finite(found.values, gradient=False) for found in fetched] == [True, False, True]


def test_weights_and_updates_are_measured_of_the_steps_that_were_measured() -> None:
    meter = Meter(examples=4)
    for step, moved in ((1, None), (2, torch.tensor([16.0, 0.25])), (3, torch.tensor([0.0, 1.0]))):
        meter.add(sums(count=0))
        meter.close_step(step, torch.tensor(1.0), {}, moved)
    found = [
        (row.values.get("train/param_norm"), row.values.get("train/update_ratio")) for row in meter.fetch()
    ]
    assert found == [(None, None), (4.0, 0.125), (0.0, math.inf)]
