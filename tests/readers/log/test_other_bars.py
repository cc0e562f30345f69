"""Bars that count no steps of a training: of preparations, of searches, of evaluations."""

from __future__ import annotations

from typing import Any

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
