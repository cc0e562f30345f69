"""What a terminal shows of a run."""

from __future__ import annotations

import pytest

from hrmdoc.trainer.commands.screen import Screen


def test_the_bar_shows_loss_exact_accuracy_and_halting_steps_and_keeps_what_a_step_lacks() -> None:
    screen = Screen()
    screen.terminal = True
    screen.begin(0, 10)
    common = {"train/lm_loss": 1.25, "train/lr": 1e-3, "perf/step_time_s": 0.5}
    screen.progress(1, common)
    assert screen._bar is not None
    assert screen._bar.tasks[0].description == "lm_loss 1.250  lr 1.0e-03  2.0 it/s"
    screen.progress(2, {**common, "train/exact_accuracy": 0.5, "train/steps": 3.0})
    screen.progress(3, common)
    task = screen._bar.tasks[0]
    screen.end()
    assert task.description == "lm_loss 1.250  exact 50%  halting after 3.0  lr 1.0e-03  2.0 it/s"
    assert task.completed == 3


def test_a_plain_line_of_a_step_ends_with_the_time_that_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("hrmdoc.trainer.commands.screen.time.monotonic", lambda: now[0])
    screen = Screen()
    screen.begin(50, 200)
    screen.say("step 50/200 | lm_loss 2.0")
    now[0] = 150.0
    screen.say("step 100/200 | lm_loss 1.0")
    screen.say("eval step 100 | all.accuracy 0.5")
    assert capsys.readouterr().err.splitlines() == [
        "step 50/200 | lm_loss 2.0",
        "step 100/200 | lm_loss 1.0 | left 0:01:40",
        "eval step 100 | all.accuracy 0.5",
    ]
