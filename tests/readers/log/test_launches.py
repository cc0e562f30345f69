"""Several launches that append to one log are several runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.analysis import Analysis, analyze
from hrmdoc.readers.log.launches import Launches
from hrmdoc.readers.log.lines.stream import Splitter


def _lines(*texts: str) -> list[int]:
    splitter, launches = Splitter(), Launches()
    data = ("\n".join(texts) + "\n").encode()
    blocks = [*splitter.feed(data[:40]), *splitter.feed(data[40:]), *splitter.close()]
    return [line for block in blocks for line in launches.lines(block)]


def test_the_first_line_of_words_that_comes_again_is_a_launch() -> None:
    once = ("=====", "12:00:01 Loading the datasets...", "loss 1.0", "loss 0.9")
    again = ("=====", "13:30:02 Loading the datasets...", "loss 1.0")
    assert _lines(*once, *again) == [6]


def test_a_line_that_only_begins_alike_is_none() -> None:
    assert _lines("##### Beginning epoch 1 #####", "loss 1.0", "##### Beginning epoch 10 #####") == []


def test_a_warning_at_the_head_marks_nothing() -> None:
    assert _lines("UserWarning: something is old", "loss 1.0", "UserWarning: something is old") == []


def _analysed(tmp_path: Path, *runs: list[float]) -> Analysis:
    log = tmp_path / "train.log"
    parts = ["Building the model\n" + "".join(f"train loss: {loss:.4f}\n" for loss in run) for run in runs]
    log.write_text("".join(parts))
    return analyze(log)


def test_a_launch_that_starts_over_is_no_divergence(tmp_path: Path) -> None:
    run = [2.3 * 0.96**i + 0.1 for i in range(60)]
    analysis = _analysed(tmp_path, run, run)
    assert {s.id for s in analysis.present if analysis.severity(s) != "info"} == set()
    assert "several-runs" in {s.id for s in analysis.present}


def test_of_several_launches_the_last_counts(tmp_path: Path) -> None:
    good, bad = [2.3 * 0.96**i + 0.1 for i in range(60)], [2.3 + 0.1 * i for i in range(60)]
    assert _analysed(tmp_path, good, bad).verdict in ("warning", "critical")
    assert _analysed(tmp_path, bad, good).verdict in ("healthy", "info")


def test_an_overlong_line_at_the_head_marks_nothing() -> None:
    word = "x" * 2000
    assert _lines(word, "loss 1.0", word) == []


def test_the_name_of_a_logger_marks_nothing() -> None:
    rule = "10:00:00 - __main__ - INFO - ====="
    once = (rule, "10:00:00 - __main__ - INFO - Building the model", "10:00:01 - __main__ - INFO - loss 1.0")
    assert _lines(*once, "10:00:02 - __main__ - INFO - loss 0.9", *once) == [6]


def test_the_place_that_loguru_names_may_change_with_the_program() -> None:
    before, after = "__main__:<module>:112 - run the program", "__main__:<module>:113 - run the program"
    assert _lines(f"10:00:00 | INFO     | {before}", "loss 1.0", f"11:00:00 | INFO     | {after}") == [3]


def test_the_heading_of_each_evaluation_is_no_launch() -> None:
    epoch = ("Epoch {}", "-----", "loss: 2.312417  [  128/60000]", "Test Error: ", " Accuracy: 10.0%")
    assert _lines(*(line.format(number) for number in (1, 2, 3) for line in epoch)) == []
    assert _lines(*(2 * ("Test Error: ", " Accuracy: 10.0%, Avg loss: 2.303538"))) == []


@pytest.mark.parametrize("begun", ["epoch 1 loss 2.30", "Epoch 1/20", "val_acc = 0.1"])
def test_what_is_said_once_the_training_goes_on_is_no_launch(begun: str) -> None:
    assert _lines(*(3 * (begun, "Now the pictures are drawn"))) == []


@pytest.mark.parametrize("said", ["Evaluating on the test set", "Start validation", "Testing the model ..."])
def test_a_sentence_with_which_evaluations_begin_is_no_launch(said: str) -> None:
    assert _lines(*(3 * (said, "val_acc = 0.1"))) == []


def test_settings_at_the_head_leave_the_line_behind_them_a_mark() -> None:
    once = ("lr: 0.1", "loss_weight = 0.5", "epochs: 3", "Building the model", "loss 1.0")
    assert _lines(*once, *once) == [9]
