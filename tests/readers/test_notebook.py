"""hrmdoc.readers.notebook: what the cells of a notebook printed and drew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hrmdoc
from hrmdoc import readers
from hrmdoc.readers import notebook
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact
from tests.readers.feeding import curves, fed

ROWS = [
    ("1", "No log", "1.700000", "0.510000"),
    ("2", "1.250000", "1.400000", "0.520000"),
    ("3", "0.8", "1.2", "0.6"),
]
DRAWN = (
    "<div><progress value='3' max='9'></progress>\n [3/9 00:10 &lt; 00:30, 0.50 it/s]</div>\n<table "
    "border=1><thead>\n"
    "<tr><th>Epoch</th>\n<th>Training Loss</th><th>Validation "
    "Loss</th><th>Accuracy</th></tr></thead><tbody>\n"
    + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in ROWS)
    + "</tbody></table><p>"
)


def code(*outputs: dict[str, Any], source: str = "") -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def drawn(html: str) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {"text/html": html, "text/plain": "<IPython.core.display.HTML object>"},
    }


def read(*cells: Any) -> list[Any]:
    blob = json.dumps({"nbformat": 4, "cells": list(cells)}, indent=1).encode()
    return fed(notebook.open_session(Context("a.ipynb")), blob, (7, 90))


def test_a_table_that_was_drawn_becomes_curves_and_what_was_measured_with_the_evaluation_is_its() -> None:
    assert curves(read(code(drawn(DRAWN)))) == {
        "Training Loss": [(2, "1.25"), (3, "0.8")],
        "Validation Loss": [(1, "1.7"), (2, "1.4"), (3, "1.2")],
        "Validation Accuracy": [(1, "0.51"), (2, "0.52"), (3, "0.6")],
    }


@pytest.mark.parametrize(
    ("name", "head", "sure"),
    [
        ("train.ipynb", '{"nbformat": 4, "metadata": {"widgets": {"a": {', True),
        ("train.ipynb", "[1, 2]", False),
        ("log.json", '{"metadata": {"a": 1}, "loss": [', False),
        ("log.json", '{"cells": [{"cell_type": "code"', True),
    ],
)
def test_widgets_may_stand_before_the_cells(name: str, head: str, sure: bool) -> None:
    assert (notebook.sniff(Path(name), head.encode()) > 0.9) == sure


def test_a_table_that_was_drawn_again_and_again_counts_once() -> None:
    parts = ("1", "2.0"), ("2", "1.8"), ("3", "1.7")
    states = [
        "".join(f"<tr><td>{step}</td><td>{loss}</td></tr>" for step, loss in parts[:shown])
        for shown in (1, 2, 3)
    ]
    head = "<div>[{}/9 Epoch 1/3]</div><table><tr><th>Step</th><th>Training Loss</th></tr>"
    found = read(
        code(*(drawn(head.format(place) + rows + "</table>") for place, rows in enumerate(states, 1)))
    )
    assert curves(found) == {"Training Loss": [(1, "2.0"), (2, "1.8"), (3, "1.7")]}


def test_printed_lines_of_all_cells_are_one_log() -> None:
    found = read(
        code(printed("step 1 loss 2.5\n")),
        {"cell_type": "markdown", "source": "loss 9"},
        code(printed("step 2 loss 2.4\n")),
    )
    assert curves(found) == {"loss": [(1, "2.5"), (2, "2.4")]}


def test_settings_in_code_are_facts_and_what_cells_set_twice_is_none() -> None:
    cells = [
        code(source="!pip install x\nlr = 1e-3\nepochs = 3"),
        code(source="args = TrainingArguments(learning_rate=lr, fp16=True)\n%time train()"),
        code(source="epochs = 5"),
        code(source="what is this"),
    ]
    assert {one.key: one.value for one in read(*cells) if isinstance(one, Fact)} == {
        "lr": 1e-3,
        "learning_rate": 1e-3,
        "fp16": True,
    }


def test_an_error_is_told_and_code_that_names_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    error = {
        "output_type": "error", "ename": "OutOfMemoryError", "evalue": "CUDA out of memory.",
        "traceback": ["\x1b[0;31m-----\x1b[0m", "\x1b[0;31mOutOfMemoryError\x1b[0m: CUDA out of memory. "
        "Tried to allocate 2G."],
    }  # fmt: skip
    good = code(
        printed("step 1 loss 2.5\nstep 2 loss 2.4\n"), source='raise RuntimeError("CUDA out of memory.")'
    )
    path.write_text(json.dumps({"nbformat": 4, "cells": [good]}))
    assert [one.id for one in hrmdoc.analyze(path).present if one.id == "oom-cuda"] == []
    path.write_text(json.dumps({"nbformat": 4, "cells": [good, code(error)]}))
    assert [one.id for one in hrmdoc.analyze(path).present if one.id == "oom-cuda"] == ["oom-cuda"]


@pytest.mark.parametrize(
    "cells", [None, 5, [5, None], [{"cell_type": "code", "outputs": 3, "source": 4}], [code({"data": []})]]
)
def test_strange_notebooks_hold_nothing(cells: Any) -> None:
    blob = json.dumps({"nbformat": 4, "cells": cells}).encode()
    assert fed(notebook.open_session(Context("a.ipynb")), blob) == []


def test_a_torn_notebook_is_told(tmp_path: Path) -> None:
    (damage,) = fed(notebook.open_session(Context("a.ipynb")), b'{"cells": [{"cell_type": "code"')
    assert isinstance(damage, Damage)
    path = tmp_path / "a.ipynb"
    path.write_bytes(b'{\n "cells": [')
    found = readers.choose(path, path.read_bytes())
    assert found is not None
    assert found.NAME == "notebook"


LOSSES = "epoch 1 loss 2.5\nepoch 2 loss 2.1\nepoch 3 loss 1.8\n"


def failed(name: str, says: str = "went wrong") -> dict[str, Any]:
    trace = ["Traceback (most recent call last)", 'File "cell.py", line 1', f"{name}: {says}"]
    return {"output_type": "error", "ename": name, "evalue": says, "traceback": trace}


def marks(*cells: Any) -> list[tuple[str, int | None]]:
    """The events by which trainings are told: kind and line."""
    return [
        (one.kind, one.line) for one in read(*cells) if isinstance(one, Event) and one.kind != "exception"
    ]


def test_where_a_cell_that_trains_begins_and_ends_is_told() -> None:
    cells = [
        code(printed("loading\nloaded\n"), source="data = load()"),
        code(printed(LOSSES), source="for epoch in range(3):\n    loss.backward()\n"),
        code(printed("test accuracy 0.9\n"), source="evaluate(model)"),
        code(printed("epoch 1 loss 1.7\n"), source="trainer.fit(model)"),
    ]
    assert marks(*cells) == [("launch", 3), ("end", 5), ("launch", 7), ("end", 7)]


def test_a_course_of_a_loss_is_of_a_training_whatever_the_code_is_called() -> None:
    assert marks(code(printed(LOSSES), source="go()")) == [("launch", 1), ("end", 3)]
    assert marks(code(printed("epoch 1 loss 2.5\n"), source="go()")) == []


def test_a_training_that_came_to_an_error_did_not_end_unless_it_said_so_before() -> None:
    trains = "model.fit(x, y)\nplot(history)"
    assert marks(code(printed(LOSSES), failed("ValueError"), source=trains)) == [("launch", 1)]
    said = code(printed(LOSSES + "Training finished.\n"), failed("ValueError"), source=trains)
    assert marks(said) == [("launch", 1), ("end", 4), ("end", 4)]


def test_a_cell_that_was_to_train_and_failed_at_once_is_one_that_trains() -> None:
    assert marks(code(failed("TypeError"), source="trainer.train()")) == [("launch", 1)]
    assert marks(code(failed("TypeError"), source="plot(history)")) == []


def test_a_line_that_comes_again_as_a_cell_is_run_again_is_no_launch() -> None:
    setup = code(printed("Requirement already satisfied: some package\n"))
    assert marks(setup, code(printed(LOSSES), source="model.fit(x)"), setup) == [("launch", 2), ("end", 4)]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        # the error is of a plot, behind a training that ended
        ([code(printed(LOSSES), source="model.fit(x)"), code(failed("KeyError"), source="plot()")], "info"),
        # or of one that somebody stopped
        (
            [
                code(printed(LOSSES), failed("KeyboardInterrupt", ""), source="model.fit(x)"),
                code(failed("NameError"), source="plot()"),
            ],
            "info",
        ),
        # the training itself came to an error
        ([code(printed(LOSSES), failed("KeyError"), source="model.fit(x)")], "critical"),
        # so did another attempt behind it
        (
            [
                code(printed(LOSSES), source="model.fit(x)"),
                code(failed("KeyError"), source="model.fit(more)"),
            ],
            "critical",
        ),
        # and what failed was made good
        (
            [
                code(failed("KeyError"), source="model.fit(x)"),
                code(printed(LOSSES), source="model.fit(x)"),
            ],
            "info",
        ),
        # nothing shows that anything was trained
        (
            [
                code(printed("Training finished.\n"), source="model.fit(x)"),
                code(failed("KeyError"), source="check()"),
            ],
            "critical",
        ),
    ],
)
def test_an_error_of_another_cell_is_no_crash_of_a_training_that_ended(
    tmp_path: Path, cells: list[Any], verdict: str
) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert hrmdoc.analyze(path).verdict == verdict


def test_that_the_kernel_of_an_interrupted_cell_went_away_is_no_crash(tmp_path: Path) -> None:
    gone = {"output_type": "error", "ename": "", "evalue": "", "traceback": ["The kernel died unexpectedly"]}
    path = tmp_path / "train.ipynb"
    cell = code(printed(LOSSES), failed("KeyboardInterrupt", ""), gone, source="model.fit(x)")
    path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    assert hrmdoc.analyze(path).verdict == "info"
    path.write_text(
        json.dumps({"nbformat": 4, "cells": [code(printed(LOSSES), gone, source="model.fit(x)")]})
    )
    assert hrmdoc.analyze(path).verdict == "critical"


@pytest.mark.parametrize(
    ("cells", "state"),
    [
        ([code(printed(LOSSES), source="model.fit(x)")], "finished"),
        ([code(printed(LOSSES), failed("KeyboardInterrupt", ""), source="model.fit(x)")], "stopped"),
        # a loop that no call shows
        ([code(printed("step 1 reward 2\n" * 3), failed("KeyboardInterrupt", ""), source="go()")], "stopped"),
        ([code(printed("    loss.backward()\nKeyboardInterrupt\n"), source="!python train.py")], "stopped"),
        ([code(printed(f"{LOSSES}step 4 loss 1.5^C\n"), source="!python train.py")], "stopped"),
        ([code(printed(LOSSES), failed("RuntimeError"), source="model.fit(x)")], "crashed"),
        # the last cell was never counted, though others were
        (
            [{**code(source="x = 1"), "execution_count": 3}, code(printed(LOSSES), source="model.fit(x)")],
            "unknown",
        ),
        (
            [
                code(printed(LOSSES), source="model.fit(x)"),
                {**code(printed("done\n"), source="x = 1"), "execution_count": 3},
            ],
            "finished",
        ),
    ],
)
def test_how_the_cell_that_trains_ended_is_how_the_run_stands(
    tmp_path: Path, cells: list[Any], state: str
) -> None:
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert hrmdoc.analyze(path).state == state


def test_what_a_traceback_quotes_is_no_end_of_a_training() -> None:
    trace = ["RuntimeError", '     83     print("[INFO] Training completed.")', "RuntimeError: no device"]
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": "no device", "traceback": trace}
    assert marks(code(printed(LOSSES), error, source="model.fit(x)")) == [("launch", 1)]
