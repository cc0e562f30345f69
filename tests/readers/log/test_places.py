"""Counters without names, and lines that stand before the first step or epoch that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import axis, points


def test_two_numbers_in_brackets_before_a_loss_are_epoch_and_batch(read: Any) -> None:
    run = read("".join(f"[{n},  {at:4d}] loss: {n}.{at}\n" for n in (1, 2) for at in (2000, 4000)))
    assert points(run, "loss") == [(2000, 1.2), (4000, 1.4), (6000, 2.2), (8000, 2.4)]


def test_of_two_counters_with_totals_the_leading_one_counts_epochs(read: Any) -> None:
    run = read(
        "".join(f"[{n}/25][{at}/50]\tLoss_D: 0.{n} Loss_G: 2.{at}\n" for n in (0, 1) for at in (0, 20))
    )
    assert [at for at, _ in points(run, "Loss_D")] == [0, 20, 50, 70]
    assert run.facts["run", "run.epochs"].value == 25
    assert run.facts["run", "run.steps_per_epoch"].value == 50


def test_a_bracket_may_open_before_the_epoch(read: Any) -> None:
    line = "(epoch: {0}, iters: {1}, time: 0.2, data: 0.1) D_A: 0.{0} G_A: 0.{1} \n"
    run = read("".join(line.format(epoch, at) for epoch in (1, 2) for at in (100, 200)))
    assert [at for at, _ in points(run, "G_A")] == [100, 200, 300, 400]


def test_a_counter_that_once_began_anew_with_an_epoch_goes_on_over_none(read: Any) -> None:
    line = "(epoch: {0}, iters: {1}, time: 0.2, data: 0.1) D_A: 0.{0} G_A: 0.1 \n"
    places = [(1, 500), (2, 300), (3, 100), (5, 700), (6, 400)]
    run = read("".join(line.format(*place) for place in places))
    steps = [at for at, _ in points(run, "G_A")]
    assert steps == sorted(steps)


def test_a_number_in_a_bracket_that_counts_nothing_is_no_measure(read: Any) -> None:
    assert (
        read("(loader:647) loss: 0.5\n" * 3).series.keys() == read("(loader) loss: 0.5\n" * 3).series.keys()
    )


def test_the_batches_of_darts_belong_to_the_epoch_that_stood_above(read: Any) -> None:
    run = read(
        "".join(
            f"epoch {n} lr 1.000000e-0{n}\n"
            + "".join(f"train {at:03d} 1.880000e-0{n} 93.560000 99.900000\n" for at in (0, 50))
            + f"train_acc 9{n}.0\n"
            for n in (1, 2, 3)
        )
    )
    assert [at for at, _ in points(run, "loss")] == [0, 50, 50, 100, 100, 150]
    assert points(run, "lr") == [(0, 0.1), (50, 0.01), (100, 0.001)]


def test_a_line_of_an_epoch_before_its_first_step_is_kept(read: Any) -> None:
    log = "".join(
        f"Epoch {n} Acc 0.{n + 2}\n" + "".join(f"Epoch {n} iter {at} loss {n}.{at}\n" for at in (10, 20))
        for n in (0, 1, 2)
    )
    assert points(read(log), "Acc") == [(10, 0.2), (20, 0.3), (40, 0.4)]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_it_is_kept_however_many_steps_follow(count: int, read: Any) -> None:
    log = "".join(
        f"Epoch {n} Acc 0.{n + 2}\n"
        + "".join(f"Epoch {n} iter {at} loss {n}.{at}\n" for at in range(1, count + 1))
        for n in (0, 1, 2)
    )
    assert points(read(log * 20), "Acc")[:2] == [(1, 0.2), (count, 0.3)]


def test_what_stands_above_each_epoch_moves_no_epoch(read: Any) -> None:
    log = "".join(f"dev set accuracy rate: 0.{n + 3}\nepoch: {n}, loss: 0.{9 - n}\n" for n in range(6))
    run = read(log)
    assert points(run, "loss") == [(n, (9 - n) / 10) for n in range(6)]
    assert axis(run, "loss") == axis(run, "dev set accuracy rate") == "epoch"
    assert [value for _, value in points(run, "dev set accuracy rate")] == [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def test_a_first_evaluation_that_shares_a_name_with_the_training_is_kept(read: Any) -> None:
    log = "".join(
        f"iter: {at}, loss: 0.{at}, spent: 27.5 s\n"
        + ("" if at % 30 else f"test acc: 4{at}.4%, test adv acc: 0.25, spent: 20.6 s\n")
        for at in range(10, 100, 10)
    )
    run = read(log)
    assert points(run, "test acc") == [(30, 430.4), (60, 460.4), (90, 490.4)]
    assert len(points(run, "spent")) == 9 + 2


def test_a_date_in_words_is_no_measure_and_moves_nothing(read: Any) -> None:
    log = "".join(
        f"Epoch {n} started at Thu Aug 15 15:16:4{n} 2024\nepoch {n} step 30/30: loss 0.{n}\n"
        for n in (1, 2, 3, 4)
    )
    run = read(log)
    assert {key.metric for key in run.series} == {"loss"}
    assert [at for at, _ in points(run, "loss")] == [30, 60, 90, 120]


def test_a_date_in_digits_counts_no_batches(read: Any) -> None:
    run = read("".join(f"INFO - 03/11/25 15:01:5{n} - epoch {n} loss: 0.{n}\n" for n in (1, 2, 3)))
    assert points(run, "loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert not run.facts


def test_a_counter_in_the_plural_counts_where_a_loss_stands_behind_it(read: Any) -> None:
    run = read("".join(f"Episodes: {n} Generator Loss: 0.{n} Time: 0.5\n" for n in (3, 6, 9)))
    assert points(run, "Generator Loss") == [(3, 0.3), (6, 0.6), (9, 0.9)]
    run = read("Epochs: 30, lr: 0.01\n" + "".join(f"Epoch: {n} Loss: 0.{n}\n" for n in (1, 2, 3)))
    assert points(run, "Loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_the_score_that_solves_an_environment_is_the_last_one(read: Any) -> None:
    log = "".join(f"Episode {n}\tAverage Score: 0.{n}\n" for n in (100, 200, 300))
    run = read(f"{log}\nEnvironment solved in 267 episodes!\tAverage Score: 0.51\n")
    assert points(run, "Average Score")[-1] == (300, 0.51)


@pytest.mark.parametrize("epochs", [3, 60])
def test_the_mean_of_an_epoch_is_a_curve_beside_that_of_its_batches(epochs: int, read: Any) -> None:
    log = "".join(
        "".join(f"epoch  {n}  step  {at:5}/   40  loss=2.{n}\n" for at in (10, 20, 30))
        + f"Epoch  {n}  loss=1.{n}\n"
        for n in range(epochs)
    )
    run = read(log)
    assert [at for at, _ in points(run, "loss")] == [
        40 * n + at for n in range(epochs) for at in (10, 20, 30)
    ]
    assert points(run, "loss_epoch") == [(40 * n + 30, float(f"1.{n}")) for n in range(epochs)]
    cut = read(log, cuts=range(7, len(log), 61))
    assert points(cut, "loss_epoch") == points(run, "loss_epoch")


def test_so_is_it_beside_a_bar_that_shows_the_loss(read: Any) -> None:
    bar = "\repoch [{0}]: {1}%|##| {1}/100 [00:01<00:01,  3.1it/s, loss={0}.{1}]"
    log = "".join(
        "".join(bar.format(n, at) for at in (50, 100)) + f"\nepoch {n} - loss: 9.{n} - acc: 0.{n}\n"
        for n in (1, 2, 3)
    )
    run = read(log)
    assert [value for _, value in points(run, "loss_epoch")] == [9.1, 9.2, 9.3]
    assert [value for _, value in points(run, "loss")] == [1.5, 1.1, 2.5, 2.1, 3.5, 3.1]
    assert points(run, "acc") == [(100, 0.1), (200, 0.2), (300, 0.3)]


def test_episodes_of_td3_stand_at_the_steps_of_the_run_and_evaluations_at_the_last(read: Any) -> None:
    run = read(
        "".join(
            f"Total T: {n}000 Episode Num: {n} Episode T: 1000 Reward: -{n}.5\n"
            + f"Evaluation over 10 episodes: {n}.25\n"
            for n in (1, 2, 3)
        )
    )
    assert points(run, "Reward") == [(1000, -1.5), (2000, -2.5), (3000, -3.5)]
    assert points(run, "Evaluation reward") == [(1000, 1.25), (2000, 2.25), (3000, 3.25)]
