"""A run that ended before its last epoch without a word says so, and how much is known of its curve."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
DAY = 86400.0
BATCHES = 20


def losses(epochs: int, planned: int) -> str:
    """A heading an epoch, and a line a batch."""
    lines = []
    for epoch in range(1, epochs + 1):
        lines.append(f"Epoch {epoch}/{planned}")
        at = [(epoch - 1) * BATCHES + batch for batch in range(BATCHES)]
        lines += [f"  batch {n % BATCHES} loss: {0.5 + 2.5 * math.exp(-n / 40):.4f}" for n in at]
    return "\n".join(lines) + "\n"


def old(path: Path, text: str, age: float = DAY) -> Path:
    path.write_text(text)
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_an_epoch_that_only_began_is_an_end_in_its_middle(hrmdoc: Command, apart: Path) -> None:
    done = hrmdoc("analyze", old(apart / "a.log", losses(2, 10) + "Epoch 3/10\n"))
    assert done.status == 0
    assert done.out.startswith("· INFO  ")
    assert "broke-off-in-epoch" in done.out
    assert "in the middle of epoch 3 of 10" in " ".join(done.out.split())


def test_keras_in_the_middle_of_a_bar_is_an_end_in_its_middle(hrmdoc: Command, apart: Path) -> None:
    bar = "250/250 [==============================] - 3s 12ms/step - loss: {:.4f} - val_loss: {:.4f}\n"
    text = "".join(f"Epoch {n}/9\n" + bar.format(2 / n + 0.3, 2 / n + 0.4) for n in range(1, 5))
    torn = "Epoch 5/9\n 12/250 [>.............................] - ETA: 2s - loss: 0.6900\n"
    assert "broke-off-in-epoch" in hrmdoc("analyze", old(apart / "a.log", text + torn)).out


@pytest.mark.parametrize("counted_from", [0, 1])
def test_whole_epochs_that_are_fewer_than_planned_are_told_first(
    hrmdoc: Command, apart: Path, counted_from: int
) -> None:
    row = "Epoch {}/10 - train_loss: {:.4f} - val_loss: {:.4f}\n"
    text = "".join(row.format(n + counted_from, 2 / (n + 1), 2.1 / (n + 1)) for n in range(4))
    done = hrmdoc("analyze", old(apart / "a.log", text))
    assert done.status == 0
    assert done.out.startswith("· INFO  it ended in epoch 4 of 10, its log untouched for 1 d")


@pytest.mark.parametrize(
    ("text", "age"),
    [
        (losses(3, 10), 60.0),
        (losses(10, 10), DAY),
        (losses(4, 10) + "Early stopping at epoch 4\n", DAY),
        ("".join(f"Epoch {n}/9 - loss: {2 / (n + 1):.4f}\n" for n in range(10)), DAY),
        ("".join(f"Epoch {n}/10 - loss: {2 / (n + 1):.4f}\n" for n in range(10)), DAY),
        ("".join(f"Epoch {n}/10 - loss: {2 / (n + 1):.4f}\n" for n in range(5, 11)), DAY),
    ],
    ids=["it goes on", "all came", "stopped early", "from 0 to the last", "from 0", "resumed"],
)
def test_no_end_is_claimed_of_a_run_that_goes_on_or_came_to_it(
    hrmdoc: Command, apart: Path, text: str, age: float
) -> None:
    shown = hrmdoc("analyze", old(apart / "a.log", text, age)).out
    assert "it ended in" not in shown
    assert "broke off" not in shown


BAR = "Epoch {}/5  ━━━━━━━━━━━━━━━━ 40/40 0:00:00 •        1248.29it/s train_loss: {:.3f}\n"
TAIL = f"{'':34}0:00:00                      val_loss: {{:.3f}}  \n"


def test_the_bar_of_rich_is_read_where_its_times_are_wrapped(hrmdoc: Command, apart: Path) -> None:
    frames = (BAR.format(n, 3 / (n + 1)) + TAIL.format(3.1 / (n + 1)) for n in range(6))
    (apart / "a.log").write_text("".join(frames))
    shown = " ".join(hrmdoc("series", "a.log").out.split())
    assert "train_loss train.loss 6 40–240" in shown
    assert "val_loss eval.loss 6 40–240" in shown


def test_the_one_frame_that_rich_leaves_in_a_file_says_what_keeps_the_others(
    hrmdoc: Command, apart: Path
) -> None:
    (apart / "a.log").write_text(BAR.format(5, 0.1) + TAIL.format(0.2))
    done = hrmdoc("analyze", "a.log")
    assert done.out.startswith("? NO DATA  not enough to judge")
    assert "RichProgressBar(leave=True)" in done.out
