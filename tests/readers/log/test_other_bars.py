"""Bars that count no steps of a training: of preparations, of searches, of evaluations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


def test_bars_that_prepare_data_measure_nothing_and_count_no_steps(read: Any) -> None:
    run = read(
        "".join(
            f"\r{head}: {n}%|#| {n * 10}/1000 [00:01<00:09, 100.00 examples/s]"
            for head in ("Map (num_proc=4)", "Running tokenizer on dataset (num_proc=4)", "Tokenizing loss 2")
            for n in (10, 50, 100)
        )
        + "\n"
        + "".join(f"Epoch {n}/12\nloss: 0.{n}\n" for n in (1, 2, 3))
    )
    assert points(run, "loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert {key.metric for key in run.series} == {"loss"}
    assert ("run", "run.steps_per_epoch") not in run.facts


def test_a_bar_measures_what_it_is_described_by_where_that_is_names_and_decimals(read: Any) -> None:
    bar = "\rd: -{0}.41{0}; gen: 0.4{0}1:  {0}%|#| {0}/100 [00:01<00:09, 1.00it/s]"
    run = read("".join(map(bar.format, range(1, 6))))
    assert points(run, "d") == [(n, -float(f"{n}.41{n}")) for n in range(1, 6)]
    assert [value for _, value in points(run, "gen")] == [0.411, 0.421, 0.431, 0.441, 0.451]
    tried = "".join(f"\ralpha: 0.{n}: {n}%|#| {n}/100 [00:01<00:09, 1.00it/s]" for n in range(1, 6))
    assert read(tried).points == 0
    assert read(tried.replace("alpha: 0.", "layer ")).points == 0


def test_a_bar_of_trials_counts_no_steps_of_an_epoch(read: Any) -> None:
    bar = "{0}%|#| {0}/20 [50:53<00:10, 1.2it/s, best loss: -0.9{0}]\n"
    run = read(
        "".join(
            bar.format(trial) + "".join(f"Epoch {n}/3\n188/188 - 2s - loss: 0.{n}\n" for n in (1, 2, 3))
            for trial in (1, 2, 3)
        )
    )
    assert [at for at, _ in points(run, "loss")] == [1, 2, 3] * 3
    assert {key.metric for key in run.series} == {"loss"}
    assert ("run", "run.steps_per_epoch") not in run.facts


@pytest.mark.parametrize(
    "drawn", ["- 2s -", "[==============================] - 2s 9ms/step -", "━━━━━━━━ 2s 9ms/step -"]
)
@pytest.mark.parametrize("batches", [79, 500])
def test_the_bar_of_an_evaluation_behind_an_epoch_is_none_of_the_training(
    drawn: str, batches: int, read: Any
) -> None:
    def bars(n: int) -> str:
        begun = f"\r 90/188 {drawn} loss: 0.7{n}\r188/188 {drawn} loss: 0.{n}"
        return f"Epoch {n}/3\n{begun}\r188/188 {drawn} loss: 0.{n} - val_loss: 0.4{n}\n"

    evaluated = f"  9/{batches} {drawn} loss: 0.91\r{batches}/{batches} {drawn} loss: 0.82\n"
    run = read("".join(map(bars, (1, 2, 3))) + evaluated)
    assert points(run, "loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert points(run, "val_loss") == [(1, 0.41), (2, 0.42), (3, 0.43)]
    assert points(run, "test_loss") == [(3, 0.82)]


def test_bars_that_do_not_know_their_end_are_of_the_training(read: Any) -> None:
    first = "Epoch 1/2\n" + "".join(f"\r{n}/Unknown - 1s 9ms/step - loss: 0.{9 - n}" for n in range(1, 6))
    run = read(first + "\r6/6 - 1s 9ms/step - loss: 0.3\nEpoch 2/2\n6/6 - 1s 9ms/step - loss: 0.2\n")
    assert points(run, "loss") == [(1, 0.3), (2, 0.2)]
    assert {key.metric for key in run.series} == {"loss"}


@pytest.mark.parametrize("epochs", [2, 30])
def test_a_bar_below_the_word_validating_is_none_of_the_training(epochs: int, read: Any) -> None:
    bar = "acc: 0.{2}, loss: {0}.{1} ||: {2}%|##| {1}/{3} [00:01<00:01,  3.1it/s]\n"
    log = "".join(
        "2026-01-02 03:04:05,678 - INFO - trainer - Training\n  0%|          | 0/40 [00:00<?, ?it/s]\n"
        + "".join(bar.format(2, at, at * 2, 40) for at in (10, 20, 30, 40))
        + "2026-01-02 03:04:05,678 - INFO - trainer - Validating\n  0%|          | 0/8 [00:00<?, ?it/s]\n"
        + "".join(bar.format(7, at, at * 12, 8) for at in (4, 8, 8))
        for _ in range(epochs)
    )
    run = read(log)
    assert [value for _, value in points(run, "loss")] == [2.1, 2.2, 2.3, 2.4] * epochs
    assert run.facts["run", "run.steps_per_epoch"].value == 40
    assert points(read(log, cuts=range(5, len(log), 97)), "loss") == points(run, "loss")


def test_a_bar_below_that_word_that_is_as_long_as_the_training_s_is_the_training_s(read: Any) -> None:
    bar = "{0}%|##| {0}/100 [00:01<00:01,  3.1it/s, loss=0.{0}]\n"
    log = "".join("Evaluating...\n" + bar.format(50) + bar.format(99) for _ in range(3))
    assert len(points(read(log), "loss")) == 6
