"""What lies behind an evaluation's means: accuracy by difficulty, halting, and the boards themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.info import IGNORE, DataInfo
from .draw import ARC, MAZE, SUDOKU, draw, side_by_side, svg
from .passk import wilson

BLANK, PATH = 1, 5  # tokens: a Sudoku's cell that is to be filled in, a maze's step of the way
BANDS = 5
SHOWN = 6  # boards in a picture
# What makes a board difficult, by how it is drawn.
MEASURES = {SUDOKU: "blanks", MAZE: "path", ARC: "cells"}


def board_of(info: DataInfo) -> str | None:
    """The signs that a dataset's boards are drawn with; None if it holds no boards. HRM's datasets do not say
    what they are."""
    side = math.isqrt(info.seq_len)
    if side * side != info.seq_len:
        return None
    sizes = {SUDOKU: side + 2, MAZE: len(MAZE), ARC: len(ARC)}
    return next((charset for charset, vocabulary in sizes.items() if info.vocab_size == vocabulary), None)


def breakdown(predictions: Path, charset: str = SUDOKU) -> dict[str, Any]:
    """For each set of a predictions file: a row per band of difficulty, and how well halting is judged.

    The difficulty of a Sudoku is the number of its blank cells, of a maze the length of the way, of an ARC
    task the number of cells of its answer; the bands hold about equally many puzzles.
    """
    with np.load(predictions) as file:
        names = sorted({key.partition("__")[0] for key in file.files})
        return {
            name: _scores(
                charset,
                *(file[f"{name}__{key}"] for key in ("inputs", "labels", "predictions", "q_halt_logits")),
            )
            for name in names
        }


def _scores(
    charset: str, inputs: NDArray[Any], labels: NDArray[Any], predicted: NDArray[Any], q_halt: NDArray[Any]
) -> dict[str, Any]:
    counted = labels != IGNORE
    right = (predicted == labels) & counted
    exact = (right | ~counted).all(1)
    hard = (
        (inputs == BLANK) if charset == SUDOKU else (labels == PATH) if charset == MAZE else labels > BLANK
    ).sum(1)
    edges = np.unique(hard)
    if len(edges) > BANDS:
        edges = np.unique(np.quantile(hard, np.linspace(0, 1, BANDS + 1)[:-1]).astype(int))
    band = np.searchsorted(edges, hard, side="right") - 1
    rows = []
    for number in np.unique(band):
        mine = band == number
        rows.append(
            {
                MEASURES[charset]: f"{hard[mine].min()}-{hard[mine].max()}",
                "count": int(mine.sum()),
                "accuracy": float((right[mine].sum(1) / counted[mine].sum(1)).mean()),
                "exact_accuracy": float(exact[mine].mean()),
            }
        )
    says = q_halt >= 0
    halting = {
        "says_solved": float(says.mean()),
        "solved_when_it_says_so": float(exact[says].mean()) if says.any() else None,
        "solved_when_it_does_not": float(exact[~says].mean()) if (~says).any() else None,
    }
    return {"by_difficulty": rows, "halting": halting}


def table(metrics: dict[str, Any]) -> str:
    """The breakdown of an evaluation as lines for a person."""
    lines = []
    for name, found in metrics["breakdown"].items():
        whole = metrics[name]
        exact = wilson(whole["exact_accuracy"] * whole["count"], round(whole["count"]))
        lines.append(
            f"{name}: {exact.estimate:.1%} of {whole['count']:,.0f} puzzles wholly right "
            f"(95 % interval {exact.low:.1%} to {exact.high:.1%}), {whole['accuracy']:.1%} of cells"
        )
        measure = next(iter(found["by_difficulty"][0]))
        lines.append(f"  {measure:>9} {'puzzles':>8} {'cells':>7} {'exact':>7}")
        lines += [
            f"  {row[measure]:>9} {row['count']:>8,} {row['accuracy']:>7.1%} {row['exact_accuracy']:>7.1%}"
            for row in found["by_difficulty"]
        ]
        halting = found["halting"]
        shares = [
            f"{key.replace('_', ' ')}: {share:.1%}" for key, share in halting.items() if share is not None
        ]
        lines.append("  halting  " + ", ".join(shares))
    return "\n".join(lines) + "\n"


def show(predictions: Path, charset: str, count: int) -> str:
    """The first `count` boards of the first set for the terminal: the question, and the prediction with wrong
    cells marked."""
    boards = _chosen(predictions, count)
    return "".join(f"\n{side_by_side(draw(q, charset), draw(p, charset, against=a))}\n" for q, p, a in boards)


def picture(predictions: Path, charset: str = SUDOKU) -> str:
    """The first boards of the first set as SVG."""
    return svg(_chosen(predictions, SHOWN), charset)


def _chosen(predictions: Path, count: int) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Question, prediction and answer of boards, those with mistakes before the others."""
    with np.load(predictions) as file:
        name = sorted({key.partition("__")[0] for key in file.files})[0]
        inputs, labels, predicted = (file[f"{name}__{key}"] for key in ("inputs", "labels", "predictions"))
    predicted = np.where(labels == IGNORE, 0, predicted)  # what is not scored is not shown
    wrong = ((predicted != labels) & (labels != IGNORE)).sum(1)
    return [
        (inputs[row], predicted[row], labels[row]) for row in np.argsort(wrong == 0, kind="stable")[:count]
    ]
