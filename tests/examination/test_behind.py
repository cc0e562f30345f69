"""hrmdoc.examination.behind: messages from behind the end of a training, and what remains of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hrmdoc

COURSE = "".join(f"step {step} loss {2.0 - step / 20:.3f}\n" for step in range(1, 21))
RAISED = (
    'Traceback (most recent call last):\n  File "main.py", line 9, in <module>\n    go()\nNameError: name\n'
)


def cell(source: str, *outputs: dict[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def read(folder: Path, text: str) -> hrmdoc.analysis.Analysis:
    path = folder / "train.log"
    path.write_text(text)
    return hrmdoc.analyze(path)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (COURSE + RAISED, "critical"),
        # what fails once the training is over did not end it
        (COURSE + "Training finished.\n" + RAISED, "warning"),
        (COURSE + "Training finished.\ntest accuracy 0.91\n" + RAISED, "warning"),
        # it went on after that
        (COURSE + "Training finished.\nstep 21 loss 0.9\n" + RAISED, "critical"),
        # another one began
        (COURSE + "Training finished.\nStarting training of the second stage\n" + RAISED, "critical"),
        # nothing was trained
        ("Training finished.\n" + RAISED, "critical"),
    ],
)
def test_what_fails_behind_the_end_of_a_training_is_less_than_a_crash(
    tmp_path: Path, text: str, verdict: str
) -> None:
    assert read(tmp_path, text).verdict == verdict


def test_a_run_that_had_ended_did_not_crash_in_what_came_behind(tmp_path: Path) -> None:
    assert read(tmp_path, COURSE + "Training finished.\n" + RAISED).state == "finished"
    again = COURSE + "Training finished.\nStarting training of the second stage\n" + RAISED
    assert read(tmp_path, again).state == "crashed"


def test_of_several_errors_the_one_that_training_did_not_outlive_is_told(tmp_path: Path) -> None:
    first = RAISED.replace("NameError: name", "ValueError: the first attempt")
    found = read(tmp_path, COURSE + first + COURSE + RAISED)
    told = next(one for one in found.present if one.id == "unhandled-exception")
    assert (told.state, told.line, told.count) == ("present", 48, 2)


THREADED = "Exception in thread Thread-2 (_readerthread):\n" + RAISED


def test_what_ended_a_thread_ended_the_program_only_where_nothing_follows(tmp_path: Path) -> None:
    assert read(tmp_path, "loading\n" * 60 + THREADED).verdict == "critical"
    assert read(tmp_path, THREADED + "loading\n" * 60).verdict == "info"
    assert read(tmp_path, RAISED + "loading\n" * 60).verdict == "critical"
    handled = THREADED + "\nDuring handling of the above exception, another exception occurred:\n\n" + RAISED
    assert read(tmp_path, handled + "loading\n" * 60).verdict == "info"
    assert read(tmp_path, THREADED + "loading\n" * 60 + RAISED).verdict == "critical"


def test_an_evaluation_in_another_cell_of_a_notebook_is_no_training_that_went_on(tmp_path: Path) -> None:
    error = {"output_type": "error", "ename": "IndexError", "evalue": "4", "traceback": ["IndexError: 4"]}
    cells = [
        cell("model.fit(x, y)", {"output_type": "stream", "text": COURSE}),
        cell("model.evaluate(z)", {"output_type": "stream", "text": "step 21 loss 1.02\n"}),
        cell("plot(z)", error),
    ]
    path = tmp_path / "work.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    found = {one.id: one.values.get("behind") for one in hrmdoc.analyze(path).present}
    assert found["unhandled-exception"] == "cell"
