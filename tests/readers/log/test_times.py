"""How long something took, beside where the run is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import axis, points


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("Epoch Time: 1m 24s", 84.0), ("Time: 5.2s", 5.2), ("Elapsed: 2m 4s", 124.0)],
)
def test_losses_below_an_epoch_and_its_time_are_of_that_epoch(read: Any, time: str, seconds: float) -> None:
    run = read(
        "".join(
            f"Epoch: {epoch:02d} | {time}\n\tTrain Loss: {3 / epoch:.3f} | Train PPL: {9 / epoch:6.3f}\n"
            f"\t Val. Loss: {4 / epoch:.3f}\n"
            for epoch in (1, 2, 3, 4)
        )
    )
    assert points(run, "Train Loss") == [(1, 3.0), (2, 1.5), (3, 1.0), (4, 0.75)]
    assert [step for step, _ in points(run, "val_Loss")] == [1, 2, 3, 4]
    assert axis(run, "val_Loss") == "epoch"
    assert points(run, time.partition(":")[0])[0] == (1, seconds)


def test_the_time_that_is_left_is_no_measure(read: Any) -> None:
    run = read("".join(f"Epoch {epoch} | loss 0.{9 - epoch} | ETA: 1m 24s\n" for epoch in (1, 2, 3)))
    assert {key.metric for key in run.series} == {"loss"}


@pytest.mark.parametrize(
    "line", ["[1200/1200 03:56, Epoch 3/3]", "[ 801/1200 1:02:53 < 04:54, 2.88 it/s, Epoch 2.01/3]"]
)
def test_the_progress_of_a_notebook_counts_the_steps_of_the_whole_run(read: Any, line: str) -> None:
    run = read(f"{line}\nEpoch\tTraining Loss\tValidation Loss\n1\t0.5\t0.6\n2\t0.4\t0.55\n3\t0.3\t0.5\n")
    assert run.facts["run", "run.total_steps"].value == 1200
    assert run.facts["run", "run.epochs"].value == 3
    assert ("run", "run.steps_per_epoch") not in run.facts
    assert points(run, "Training Loss") == [(1, 0.5), (2, 0.4), (3, 0.3)]


@pytest.mark.parametrize(
    "stamp",
    ["04/03/2025 01:30:10 AM", "4/3/2025 1:30:10 PM", "2025-04-03 01:30:10 AM", "04/03 01:30:10 PM -"],
)
def test_the_half_of_the_day_is_no_name_of_what_follows(read: Any, stamp: str) -> None:
    run = read(f"{stamp} step 5 loss 2.9\n{stamp} step 6 loss 2.8\n")
    assert {key.metric for key in run.series} == {"loss"}
    assert points(run, "loss") == [(5, 2.9), (6, 2.8)]


@pytest.mark.parametrize(
    "stamp",
    [
        "04/03/2025 01:30:10 {half}",
        "[04/03/2025 01:30:10 {half}]",
        "4/3/25 1:30:10 {half}",
        "2025-04-03 01:30:10 {half}",
    ],
)
@pytest.mark.parametrize("half", ["AM", "PM"])
def test_the_half_of_the_day_behind_a_stamp_is_no_word_of_the_step(read: Any, stamp: str, half: str) -> None:
    run = read("".join(f"{stamp.format(half=half)} step {5 * at} loss 2.{90 - at}\n" for at in range(1, 21)))
    assert {key.metric for key in run.series} == {"loss"}
    assert [step for step, _ in points(run, "loss")] == list(range(5, 101, 5))


def test_hours_minutes_and_seconds_are_one_time_and_no_measures(read: Any) -> None:
    line = "epoch: 0  batch: {0} / 170  loss: 1.2{0}  hr: 1  min: 5{0}  sec: 2{0}\n"
    assert set(read("".join(map(line.format, range(1, 6)))).metrics) == {"loss"}
    line = "epoch: {0}  loss: 1.2{0}  mean: 0.{0}  min: 0.0{0}  max: 0.9{0}\n"
    assert "min" in read("".join(map(line.format, range(1, 6)))).metrics
