from __future__ import annotations

from typing import Any

import pytest

from tests.readers.textlog.metrics import axis, points


def test_epochs_that_restart_the_batch_counter_are_laid_end_to_end(read: Any) -> None:
    line = "Epoch: [{0}][{1}/100]\tLoss {0}.{1:02d} (9.99)\tAcc@1 1.0 (2.0)\n"
    run = read("".join(line.format(epoch, batch) for epoch in (0, 1) for batch in (0, 50)))
    assert points(run, "Loss") == [(0, 0.0), (50, 0.5), (100, 1.0), (150, 1.5)]


def test_a_batch_counter_without_a_total_learns_the_length_of_an_epoch(read: Any) -> None:
    lines = [f"Epoch {epoch}, Step {step}, avg loss so far is 0.{epoch}\n" for epoch in (0, 1, 2) for step in (25, 50)]
    run = read("".join(lines) + "Epoch 2, val loss is 0.0424, val mse is 0.0197.\n")
    assert [step for step, _ in points(run, "avg loss")] == [25, 50, 75, 100, 125, 150]
    assert points(run, "val mse") == [(150, 0.0197)]


def test_a_step_counter_that_goes_on_over_epochs_is_taken_as_it_is(read: Any) -> None:
    run = read("".join(f"epoch {step // 100} step {step}/1000 loss 1.0\n" for step in range(50, 400, 50)))
    assert [step for step, _ in points(run, "loss")] == list(range(50, 400, 50))


def test_lines_that_tell_an_epoch_alone_are_placed_on_the_epoch_axis(read: Any) -> None:
    run = read("Epoch 1/3 - Train Loss: 4.0, Val Loss: 3.2\nEpoch 2/3 - Train Loss: 3.0, Val Loss: 3.1\n")
    assert points(run, "Train Loss") == [(1, 4.0), (2, 3.0)]
    assert axis(run, "Val Loss") == "epoch"
    assert run.facts["run", "run.epochs"].value == 3


def test_lines_that_come_back_within_an_epoch_are_counted(read: Any) -> None:
    log = "Epoch 1 - Batch loss: 3.0\nEpoch 1 - Batch loss: 2.0\nEpoch 1 - Average Train Loss: 2.5\nEpoch 2 - Batch loss: 1.0\n"
    run = read(log)
    assert points(run, "Batch loss") == [(0, 3.0), (1, 2.0), (2, 1.0)]
    assert points(run, "Average Train Loss") == [(1, 2.5)]


def test_lines_without_any_step_count_only_when_their_shape_comes_again(read: Any) -> None:
    assert read("loss is 0.5 and kl is 0.1\n" * 2).points == 0
    run = read("".join(f"grpo_loss is 0.{i} and kl is 0.1\n" for i in range(1, 5)))
    assert points(run, "grpo_loss") == [(0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4)]
    assert axis(run, "grpo_loss") == "index"


def test_an_evaluation_before_the_first_step_stands_at_the_first_step(read: Any) -> None:
    log = "validation loss: 10.95\n" + "".join(
        f"step {step} | loss: {9 - step / 100:.2f}\n" + ("" if step % 10 else f"validation loss: {8 - step / 100:.2f}\n")
        for step in range(20, 61)
    )
    assert points(read(log), "validation loss")[:3] == [(20, 10.95), (20, 7.8), (30, 7.7)]


def test_a_number_of_steps_behind_other_numbers_is_no_place_in_the_run(read: Any) -> None:
    log = "".join(f"step {step} | loss: {9 - step / 10}\nSampling slow: 58.{step}s, steps=200\n" for step in range(1, 9))
    assert points(read(log), "loss")[-1] == (8, 8.2)
    assert all(step < 9 for step, _ in points(read(log), "steps"))


def test_a_loss_that_is_no_number_is_told_by_one_line(read: Any) -> None:
    run = read(
        "2026-01-02 03:04:05.678901: Epoch 0 \n2026-01-02 03:26:05.678901: train_loss nan \n2026-01-02 03:26:05.8: val_loss nan\n"
    )
    assert [at for at, _ in points(run, "train_loss")] == [0]
    assert len(points(run, "val_loss")) == 1


def test_a_loss_that_is_a_number_or_infinite_is_not(read: Any) -> None:
    assert read("Epoch 0\nbest_loss inf\n").points == 0
    assert read("Epoch 0\ntrain_loss 0.5\n").points == 0
    assert read("Loss is nan, stopping training\n").points == 0
    assert read("loss: 0.5, lr: 1e-4\n").points == 0


@pytest.mark.parametrize(
    "line", ["loss: nan, lr: 1e-4", "Loss: tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)", "train loss = nan"]
)
def test_a_line_that_holds_nothing_else_tells_of_a_lost_loss(line: str, read: Any) -> None:
    assert read(f"{line}\n").points >= 1
