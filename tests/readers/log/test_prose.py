from __future__ import annotations

import math
from typing import Any

import pytest

from tests.readers.log.metrics import points


def test_arguments_and_prose_are_no_metrics(read: Any) -> None:
    log = (
        "  lr .............................................. 0.0003\n  num_layers ...................................... 24\n"
        "Namespace(lr=0.0005, epochs=3)\n+ python train.py --lr 1e-4 --loss-scale 128 --train-iters 500\n"
        "**Step 1: First Two Weeks**\nStep 2:\n* In step 3 she needs a score of 85 to pass with accuracy 4.\n"
        "The student scores 82, 91 and 76.\n{'lr': 0.001, 'batch_size': 32, 'loss': 'mse'}\n"
    )
    run = read(log)
    assert run.points == 0
    assert run.facts["config", "num_layers"].value == 24
    assert run.facts["config", "epochs"].value == 3
    assert run.facts["config", "train_iters"].value == 500


def test_what_a_shell_says_that_it_does_is_no_metric(read: Any) -> None:
    run = read(
        "++ return 0\n+ sleep 5\niteration 1 loss: 2.0\n++ return 0\n+++ local score 3\niteration 2 loss: 1.9\n"
    )
    assert {key.metric for key in run.series} == {"loss"}


@pytest.mark.parametrize(
    "line",
    [
        "Skipping nan loss 3 times",
        "found nan loss in rank 3",
        "nan grad norm 5 skipped",
        "step 7 saw a nan loss",
    ],
)
def test_a_nan_in_a_sentence_is_no_value(read: Any, line: str) -> None:
    run = read(f"step 6 loss 1.5\n{line}\n")
    assert points(run, "loss") == [(6, 1.5)]
    assert all(math.isfinite(value) for series in run.series.values() for value in series.values)


def test_a_gradient_norm_that_is_no_number_counts_when_it_is_said_once(read: Any) -> None:
    run = read(
        "1/50epoch started\n(trainer:647) WARNING: The grad norm is nan. Skipping updating the model.\nThe grad norm is 1.5\n"
    )
    assert [value for _, value in points(run, "grad norm") if math.isfinite(value)] == []
    assert len(points(run, "grad norm")) == 1


def test_a_nan_between_two_names_without_signs_is_a_value(read: Any) -> None:
    run = read("step 6 loss 1.5 grad_norm 2.0 lr 1e-3\nstep 7 loss nan grad_norm inf lr 1e-3\n")
    assert [step for step, value in points(run, "loss") if math.isnan(value)] == [7]
    assert points(run, "grad_norm") == [(6, 2.0), (7, math.inf)]
    assert {key.metric for key in run.series} == {"loss", "grad_norm", "lr"}


def test_a_line_of_metrics_may_be_set_in_stars_and_a_list_may_not(read: Any) -> None:
    run = read("**Epoch: 003/020 | Test. Acc.: 97.43% | Loss: 0.0829\n* Epoch: 4 of the paper had loss 7\n")
    assert {key.metric for key in run.series} == {"test_Acc", "test_Loss"}
    assert points(run, "test_Acc") == [(3, 97.43)]


def test_a_phone_error_rate_has_a_name_and_a_sentence_that_ends_in_per_has_none(read: Any) -> None:
    lines = (
        f"epoch {n} done. train loss {9.0 / n:.2f} dev loss {8.0 / n:.2f} dev PER {90 - n}%"
        for n in (1, 2, 3)
    )
    assert points(read("\n".join(lines) + "\n"), "dev PER") == [(1, 89.0), (2, 88.0), (3, 87.0)]
    assert not read("we saw a loss per 10 steps\n" * 4).points


def test_the_line_behind_a_validation_that_the_imagenet_example_prints_is_of_held_out_data(read: Any) -> None:
    """` * Acc@1` once an epoch, behind the lines of its batches."""
    epochs = (
        "".join(f"Epoch: [{n}][{at}/20]\tLoss {2 / (n + 1):.4f} ({1.0:.4f})\n" for at in (0, 10))
        + f" * Acc@1 {60 + n}.10 Acc@5 {90 + n / 10:.2f}\n"
        for n in range(8)
    )
    assert [value for _, value in points(read("".join(epochs)), "val_Acc@1")] == [60.1 + n for n in range(8)]


def test_counts_behind_metrics_do_not_hide_them(read: Any) -> None:
    run = read(
        "".join(
            f"Episode {n}/40 finished, total reward  : {n}.250, actions taken : {{'hold': 2011, 'buy': 3}}\n"
            for n in range(1, 6)
        )
    )
    assert points(run, "total reward") == [(n, n + 0.25) for n in range(1, 6)]


def test_a_log_says_that_it_counts_episodes(read: Any) -> None:
    games = read("".join(f"Episode {n}00\tAverage Score: {n}.57\n" for n in range(1, 5)))
    assert points(games, "Average Score") == [(100 * n, float(f"{n}.57")) for n in range(1, 5)]
    assert games.facts["run", "run.counts"].value == "episodes"
    epochs = read("".join(f"Epoch {n}\tAverage Score: {n}.57\n" for n in range(1, 5)))
    assert ("run", "run.counts") not in epochs.facts


@pytest.mark.parametrize(
    "line",
    [
        "Best model weights saved for fold 1 at epoch {0} with accuracy 0.97{0}",
        "Saved the best model at epoch {0} with val accuracy 0.97{0}",
        '    warnings.warn("API change", stacklevel={0})',
        "saved                         checkpoint.py:1{0}",
        "lib/optim.py:72: the step is done",
        "worker {0} has the base seed=4{0}",
    ],
)
def test_what_was_kept_and_lines_of_code_are_no_metrics(read: Any, line: str) -> None:
    log = "".join(f"Epoch {e}: train_loss 0.{9 - e} val_acc 0.{e}\n{line.format(e)}\n" for e in (1, 2, 3, 4))
    assert {key.metric for key in read(log).series} == {"train_loss", "val_acc"}


def test_a_value_stands_before_its_rate_where_the_next_one_does(read: Any) -> None:
    line = "INFO - 03/11/25 15:01:5{0} - 0:18:02 -    {0}00 -   5{0}.5 units/s -  10{0}.2 words/s - loss:  0.{0} - LR: 1e-04\n"
    run = read("".join(line.format(e) for e in (1, 2, 3, 4)))
    assert points(run, "units/s")[:2] == [(100, 51.5), (200, 52.5)]
    assert points(run, "words/s")[:2] == [(100, 101.2), (200, 102.2)]
    assert points(run, "loss")[-1] == (400, 0.4)


@pytest.mark.parametrize(
    "line",
    [
        "/opt/code/losses.py:49: UserWarning: bad (Triggered internally at ../csrc/utils/tensor_new.cpp:278.)",
        'Stored checkpoint at step {0}0 to "/data/vit_wandb/5/vit-step"',
        "Best accuracy_top-1 of epoch is kept in runs/7/best.pth",
    ],
)
def test_lines_of_programs_and_folders_are_no_measures(read: Any, line: str) -> None:
    run = read("".join(f"Epoch {n} loss 0.{n}\n{line.format(n)}\n" for n in range(1, 6)))
    assert {key.metric for key in run.series} == {"loss"}
    assert points(run, "loss") == [(n, n / 10) for n in range(1, 6)]


def test_a_number_behind_a_slash_may_still_belong_to_a_name(read: Any) -> None:
    run = read("".join(f"step {n} loss/1: 0.{n} loss/2: 0.5\n" for n in range(1, 5)))
    assert points(run, "loss 1") == [(n, n / 10) for n in range(1, 5)]


@pytest.mark.parametrize("name", ["reward", "kl", "bleu"])
def test_in_a_line_of_names_and_numbers_in_turn_a_nan_is_the_value_of_the_name_before_it(
    read: Any, name: str
) -> None:
    run = read(f"step 1 {name} 0.5 loss 0.47\nstep 2 {name} nan loss 0.46\nstep 3 found nan loss 3\n")
    assert [(step, str(value)) for step, value in points(run, name)] == [(1, "0.5"), (2, "nan")]
    assert points(run, "loss") == [(1, 0.47), (2, 0.46)]
