"""What programs set, and which text their author pastes to change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.remedies.planner import plan
from hrmdoc.remedies.python_text import options, places, text_to_paste
from hrmdoc.rulebook import Change, ConfigKey, Framework
from tests.remedies.planning import LOWER, after, planned, remedy

PROGRAM = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("-l", "--lr", type=float)
learning_rate = 1e-3
epochs = 5
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    made = tmp_path / "train.py"
    made.write_text(PROGRAM)
    return made


def test_options_of_programs_are_known_by_the_names_of_their_values(program: Path) -> None:
    notebook = program.with_suffix(".ipynb")
    notebook.write_text('{"cells": ["--seed"]}')
    found = options([program, notebook])
    assert found["batch_size"] == "--batch-size"
    assert "seed" not in found


def test_where_a_program_sets_a_key_is_told_with_its_line(program: Path) -> None:
    assert places([program], ["epochs", "seed", "learning_rate"]) == [
        f"{program}:6 sets epochs = 5",
        f"{program}:5 sets learning_rate = 1e-3",
    ]
    assert places([program.with_suffix(".ipynb")], ["epochs"]) == []


def test_a_change_is_pasted_as_keyword_arguments_options_or_attributes() -> None:
    assert text_to_paste("hf-trainer", {"learning_rate": 2e-5, "optim": "adamw"}).splitlines() == [
        "TrainingArguments(",
        "    learning_rate=2e-05,",
        "    optim='adamw',",
        "    ...",
        ")",
    ]
    assert text_to_paste("own", {"--lr": 2e-5, "--batch-size": 8}) == "--lr=2e-05 --batch-size=8"
    assert text_to_paste("own", {"optimizer.lr": 2e-5}) == "config.optimizer.lr = 2e-05"
    both = text_to_paste("own", {"lr": 1, "optimizer.lr": 2}).splitlines()
    assert both == ["lr = 1", "config.optimizer.lr = 2"], "a program that nobody knows has no such class"
    assert text_to_paste("own", {}) == ""


def test_what_is_pasted_bears_the_name_that_the_program_gives(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\nLR = 0.5\ntrain(torch.optim.AdamW(lr=LR))\n")
    framework = Framework("own", "Own", config={"optimizer.lr": ConfigKey(("learning_rate", "lr"))})
    patch = plan(remedy(LOWER), {"optimizer.lr": 0.5}, framework, [program])
    assert patch.paste.lower() == "lr = 0.1"
    assert any("sets" in note for note in patch.notes)


def test_a_word_keeps_its_quotes(tmp_path: Path) -> None:
    framework = Framework("own", "Own", config={"precision": ConfigKey(("dtype",), "str")})
    for quote in "'\"":
        change, text = Change("precision", "set", "bf16"), f"dtype = {quote}float16{quote}\n"
        patch = planned(tmp_path, text, change, framework=framework, name="c.py")
        assert after(patch) == f"dtype = {quote}bfloat16{quote}\n"
