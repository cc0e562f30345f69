from __future__ import annotations

import math
from typing import Any

import pytest

from tests.readers.log.metrics import axis, points


def test_epochs_that_restart_the_batch_counter_are_laid_end_to_end(read: Any) -> None:
    line = "Epoch: [{0}][{1}/100]\tLoss {0}.{1:02d} (9.99)\tAcc@1 1.0 (2.0)\n"
    run = read("".join(line.format(epoch, batch) for epoch in (0, 1) for batch in (0, 50)))
    assert points(run, "Loss") == [(0, 0.0), (50, 0.5), (100, 1.0), (150, 1.5)]


def test_a_batch_counter_without_a_total_learns_the_length_of_an_epoch(read: Any) -> None:
    lines = [
        f"Epoch {epoch}, Step {step}, avg loss so far is 0.{epoch}\n"
        for epoch in (0, 1, 2)
        for step in (25, 50)
    ]
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
        f"step {step} | loss: {9 - step / 100:.2f}\n"
        + ("" if step % 10 else f"validation loss: {8 - step / 100:.2f}\n")
        for step in range(20, 61)
    )
    assert points(read(log), "validation loss")[:3] == [(20, 10.95), (20, 7.8), (30, 7.7)]


def test_a_number_of_steps_behind_other_numbers_is_no_place_in_the_run(read: Any) -> None:
    log = "".join(
        f"step {step} | loss: {9 - step / 10}\nSampling slow: 58.{step}s, steps=200\n" for step in range(1, 9)
    )
    assert points(read(log), "loss")[-1] == (8, 8.2)
    assert points(read(log), "steps") == []


def test_a_loss_that_is_no_number_is_told_by_one_line(read: Any) -> None:
    run = read(
        "2026-01-02 03:04:05.678901: Epoch 0 \n2026-01-02 03:26:05.678901: train_loss nan \n2026-01-02 03:26:05.8: val_loss nan\n"
    )
    assert [at for at, _ in points(run, "train_loss")] == [0]
    assert len(points(run, "val_loss")) == 1


def test_a_loss_that_is_a_number_or_infinite_is_not(read: Any) -> None:
    assert read("Epoch 0\nbest_loss inf\n").points == 0
    assert read("train_loss 0.5\n").points == 0
    assert read("Loss is nan, stopping training\n").points == 0
    assert read("loss: 0.5, lr: 1e-4\n").points == 0


@pytest.mark.parametrize(
    "line",
    [
        "loss: nan, lr: 1e-4",
        "Loss: tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)",
        "train loss = nan",
    ],
)
def test_a_line_that_holds_nothing_else_tells_of_a_lost_loss(line: str, read: Any) -> None:
    assert read(f"{line}\n").points >= 1


def test_a_line_of_nothing_but_a_result_is_a_point_where_the_position_is_known(read: Any) -> None:
    stamp = "2026-01-02 03:04:05.678901: "
    run = read(
        f"{stamp}\n{stamp}Epoch 195 \n{stamp}train_loss -0.7526\n{stamp}val_loss -0.77\n{stamp}Epoch time: 61.1 s\n"
    )
    assert (points(run, "train_loss"), points(run, "val_loss")) == ([(195, -0.7526)], [(195, -0.77)])
    assert len(run.series) == 2


@pytest.mark.parametrize(
    "line",
    [
        "best_loss 0.5",
        "lr: 0.001",
        "loss_scale: 128",
        "Best accuracy so far: 0.5",
        "accuracy   0.95   100",
        "loss of 0.5",
    ],
)
def test_other_settings_and_records_are_none(line: str, read: Any) -> None:
    assert read(f"Epoch 3\n{line}\n").points == 0


def test_results_that_came_once_are_read_where_nothing_came_more_often(read: Any) -> None:
    run = read(
        "reward: 0.0   reward_std: 0.0   loss: 0.0   grad_norm: 0.0\n\ncompletions/clipped_ratio: 1.0\n"
    )
    assert {key.metric for key in run.series} == {
        "reward",
        "reward_std",
        "loss",
        "grad_norm",
        "completions/clipped_ratio",
    }
    assert points(read("loss: inf\n"), "loss") == [(0, math.inf)]
    for alone in (
        "loss: 0.5\n",
        "best loss: inf\n",
        "The loss was 0.5 and the accuracy 0.25, which is good.\n",
    ):
        assert read(alone).points == 0
    assert {
        key.metric for key in read("loss: 0.5\naccuracy: 0.5\nstep 1 ppl 2.5\nstep 2 ppl 2.0\n").series
    } == {"ppl"}


def test_results_that_came_twice_without_a_position_are_read_at_the_end(read: Any) -> None:
    part = "... (iteration a)\nMean value_function loss: {0}\nMean reward: {1}\naux_loss_coef: 0.1\n-----\n"
    run = read(part.format(0.5, 12) + part.format(8e12, -900.5))
    assert points(run, "Mean reward") == [(0, 12.0), (1, -900.5)]
    assert {key.metric for key in run.series} == {"Mean reward", "Mean value_function loss"}
    assert {key.metric for key in read(part.format(0.5, 12)).series} == {
        "Mean reward",
        "Mean value_function loss",
    }


def test_batches_in_brackets_far_behind_the_epoch_are_counted(read: Any) -> None:
    line = "Epoch: [{0}]  [ {1:2}/20]  eta: 0:03:06  lr: 0.000000  loss: 0.57{1} (0.60)  time: 0.89  data: 0.23  max mem: 6450\n"
    run = read("".join(line.format(epoch, batch) for epoch in (3, 4) for batch in (0, 10)))
    assert [at for at, _ in points(run, "loss")] == [40, 50, 60, 70]


def test_measures_that_were_held_back_stand_in_the_epochs_that_they_came_in(read: Any) -> None:
    run = read(
        "".join(f"epoch:  {epoch}\nlr: 0.00{9 - epoch}\nsaving took 0.4 seconds\n" for epoch in (6, 7, 8))
    )
    assert points(run, "lr") == [(6, 0.003), (7, 0.002), (8, 0.001)]


def test_a_split_in_brackets_says_whose_the_measures_are(read: Any) -> None:
    run = read(
        "".join(f"Epoch {n}\n[Train] loss: 0.9, acc: 0.5\n[Val] loss: 0.{n}, acc: 0.4\n" for n in (1, 2, 3))
    )
    assert points(run, "val_loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert len(points(run, "train_loss")) == 3


def test_initials_of_splits_count_beside_each_other_alone(read: Any) -> None:
    run = read(
        "".join(f"Epoch: {n} | T_Loss 1{n}.1 | T_acc 0.1 | V_Loss   nan | V_acc.   0.2\n" for n in (1, 2))
    )
    assert {key.metric for key in run.series} == {"train_Loss", "train_acc", "val_Loss", "val_acc"}
    run = read("".join(f"Epoch: {n} | pi_loss 1{n}.1 | v_loss 0.1\n" for n in (1, 2)))
    assert {key.metric for key in run.series} == {"pi_loss", "v_loss"}


@pytest.mark.parametrize(
    ("written", "value"), [("1.#IND00", "nan"), ("-1.#QNAN", "nan"), ("1.#INF", "inf"), ("-nan(ind)", "nan")]
)
def test_what_microsofts_compilers_write_for_no_number_is_none(written: str, value: str, read: Any) -> None:
    run = read(f"step 1 loss: 0.5\nstep 2 loss: {written}\n")
    assert repr(points(run, "loss")[1][1]) == value


def test_a_rate_without_a_name_lends_its_unit_to_no_name(read: Any) -> None:
    head = "Train Epoch: {0} [48/96 (50%)] Data (t): 0.008 Batch (t): 0.042, 1153.56/s, 1153.56/s/gpu LR: 0.00006{0} Loss: 4.3{0}\n"
    run = read("".join(map(head.format, (1, 2, 3))))
    assert [value for _, value in points(run, "LR")] == [0.000061, 0.000062, 0.000063]
    assert len(points(read("Epoch: 1/Iter 5 loss: 0.5\nEpoch: 1/Iter 10 loss: 0.4\n"), "loss")) == 2


def test_the_last_values_of_a_run_stand_at_the_step_that_it_came_to(read: Any) -> None:
    run = read(
        "wandb: Run summary:\nwandb:  train/global_step 120\nwandb:  train/grad_norm 0.5\nwandb:  train/loss 2.5\n"
    )
    assert points(run, "train/loss") == [(120, 2.5)]
    log = "wandb: Run summary:\nwandb:  train/global_step 1.5\nwandb:  train/loss 2.5\n"
    assert points(read(log), "train/loss") == [(0, 2.5)]


@pytest.mark.parametrize("epoch", ["Epoch", "Epoc"])
def test_a_number_of_a_batch_counts_it(read: Any, epoch: str) -> None:
    line = "[{0}: {1}, batch_no: {2}] loss: 0.{2}\n"
    run = read("".join(line.format(epoch, e, batch) for e in (1, 2) for batch in (500, 1000)))
    assert [step for step, _ in points(run, "loss")] == [500, 1000, 1500, 2000]
    assert {key.metric for key in run.series} == {"loss"}


def test_a_step_may_stand_between_a_loss_and_its_value(read: Any) -> None:
    run = read(
        "".join(f"Training loss for {e}:0.{9 - e}\nValidation loss for {e}:0.{e}\n" for e in (1, 2, 3))
    )
    assert points(run, "Training loss") == [(1, 0.8), (2, 0.7), (3, 0.6)]
    assert points(run, "Validation loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_the_totals_of_the_counters_before_a_total_are_those_of_the_run(read: Any) -> None:
    run = read("[epoch: 1/200, iter: 325/448] total: 1.4\n[epoch: 2/200, iter: 325/448] total: 1.3\n")
    assert run.facts["run", "run.epochs"].value == 200
    assert [value for _, value in points(run, "total")] == [1.4, 1.3]


def test_what_a_policy_got_in_an_evaluation_stands_at_the_timesteps_that_its_line_says(read: Any) -> None:
    lines = "Eval num_timesteps={0}000, episode_reward=11.{0} +/- 0.50\nEpisode length: 20{0}.00 +/- 0.00\n"
    run = read("".join(map(lines.format, range(1, 5))))
    assert points(run, "val_episode_reward") == [(1000, 11.1), (2000, 11.2), (3000, 11.3), (4000, 11.4)]
    assert points(run, "Episode length") == [(1000, 201), (2000, 202), (3000, 203), (4000, 204)]
    assert {key.metric for key in run.series} == {"val_episode_reward", "Episode length"}


def test_steps_in_thousands_go_on_by_the_stride_of_those_before(read: Any) -> None:
    shown = ("400", "800", "1K", "2K", "2K", "2K", "3K")
    run = read("".join(f"step:{step} smpl:3K loss:0.{90 - n}\n" for n, step in enumerate(shown)))
    assert [step for step, _ in points(run, "loss")] == [400, 800, 1200, 1600, 2000, 2400, 2800]


def test_steps_in_thousands_stand_as_they_are_where_no_stride_leads_to_them(read: Any) -> None:
    run = read("".join(f"step: {step}, loss: 0.{90 - n}\n" for n, step in enumerate(("20K", "40K", "1.2M"))))
    assert [step for step, _ in points(run, "loss")] == [20_000, 40_000, 1_200_000]
    run = read("".join(f"step: {step}, loss: 0.{90 - n}\n" for n, step in enumerate(("100", "200", "3K"))))
    assert [step for step, _ in points(run, "loss")] == [100, 200, 3000]


def test_a_batch_on_a_line_of_its_own_heads_the_measures_below_it(read: Any) -> None:
    block = "  Batch {}/218\n    Loss: 0.{}\n    Mask: 0.75\n"
    run = read(
        "".join(f"\nEpoch {n}/9\n" + "".join(block.format(b, b) for b in (1, 21, 218)) for n in (1, 2))
    )
    assert points(run, "Loss") == [(1, 0.1), (21, 0.21), (218, 0.218), (219, 0.1), (239, 0.21), (436, 0.218)]
    # without its total it may as well number a paragraph
    run = read("".join(f"Epoch {n}/9\nBatch {n * n}\nLoss: 0.{n}\n" for n in (1, 2, 3)))
    assert points(run, "Loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_thousands_before_the_next_part_of_a_line_are_of_one_number(read: Any) -> None:
    line = "INFO: [epoch: {0}, iter: {1:8,d}, lr:(2.000e-04,)] l_pix: 5.{0}e-03\n"
    run = read("".join(line.format(at, at * 1500) for at in range(1, 5)))
    assert [step for step, _ in points(run, "l_pix")] == [1500, 3000, 4500, 6000]


def test_lines_that_stood_for_their_epochs_go_on_to_where_a_bar_was_left_over(read: Any) -> None:
    rest = "Training loss: 2.{0:02d}\nValidation loss: 3.{0:02d}\n"
    left = {29: "8 / 10 : loss = 27.1\n", 59: "8 / 10 : loss = 24.1\n"}
    log = "".join(f"Epoch {n}\n{left.get(n, '')}{rest.format(n)}" for n in range(60))
    for cuts in ((), range(40, len(log), 40)):
        run = read(log, cuts)
        assert [step for step, _ in points(run, "Validation loss")] == list(range(60))
        assert axis(run, "Training loss") == "epoch"
        assert points(run, "loss") == [(288, 27.1), (588, 24.1)]


def test_a_number_at_an_epoch_counts(read: Any) -> None:
    line = "{0}: {1} @ epoch:{2}/9 loss: 0.{1} reg_loss: 0.0{1}\n"
    run = read(
        "".join(
            line.format("train", n, n // 30) + line.format("valid", n, n // 30) for n in range(10, 60, 10)
        )
    )
    assert points(run, "loss") == [(n, n / 100) for n in range(10, 60, 10)]
    assert points(run, "val_loss") == [(n, n / 100) for n in range(10, 60, 10)]
