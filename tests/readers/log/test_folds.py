"""Headings that name a fold: each begins a training of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hrmdoc
from tests.readers.log.metrics import axis, points


def lines(run: Any) -> list[int | None]:
    return [event.line for event in run.events.of("launch")]


@pytest.mark.parametrize(
    "heading",
    [
        "Fold {}",
        "===== Fold {}/5 =====",
        "Training on fold {} of 5",
        "--- fold: {} ---",
        "> Fold {}/5 (K-Fold)",
        "===== fold: {} training =====",
        "Fold {} starts",
        "Grid search run {}/8: {{'lr': 0.1, 'batch_size': 64}}",
        "=== Experiment {} of 12 ===",
        "Configuration {}/9: (32, 0.1)",
    ],
)
def test_a_heading_that_names_another_fold_is_a_launch(read: Any, heading: str) -> None:
    text = "".join(f"{heading.format(fold)}\nloss: 1.5\nloss: 1.2\n" for fold in (1, 2, 3))
    assert lines(read(text)) == [1, 4, 7]


def test_a_heading_that_comes_again_is_none_and_a_line_of_values_neither(read: Any) -> None:
    text = "Fold 1\nloss: 1.5\nFold 1\nloss: 1.4\nFold 2: 0.91\nfold 3 loss: 1.2\nRun 3/8: loss 0.4\nRun 4\nin run 2/8 of it\n== fold: 4 result ==\nthe fold 4 is left out\n"
    assert lines(read(text)) == [1]


def test_losses_of_folds_that_are_harder_are_no_course_of_one_training(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    losses = [0.4 + 0.15 * (at > 4) + 0.004 * (at * 7 % 5) for at in range(90)]
    text = "".join(
        f"Fold {at % 5 + 1}/5\nEpoch 30 | Train Loss: {loss:.4f}\n\n" for at, loss in enumerate(losses)
    )
    path.write_text(text)
    assert hrmdoc.analyze(path).verdict == "info"
    path.write_text(text.replace("Fold", "Part"))
    assert hrmdoc.analyze(path).verdict == "critical"


def test_a_line_that_closes_each_fold_counts_no_steps(read: Any) -> None:
    text = "".join(
        f"== fold: {fold} training ==\n"
        + "".join(
            f"Epoch {epoch} - train_loss: {3 / epoch:.3f}  val_loss: {4 / epoch:.3f}\n"
            for epoch in range(1, 6)
        )
        + f"== fold: {fold} result ==\nMSE loss: {0.6 + fold / 50}\n"
        for fold in range(5)
    )
    run = read(text)
    assert [step for step, _ in points(run, "train_loss")] == 5 * [1, 2, 3, 4, 5]
    assert axis(run, "train_loss") == axis(run, "MSE loss") == "epoch"
