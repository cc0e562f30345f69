"""What lies behind an evaluation's means: accuracy by difficulty, halting, and the boards themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .draw import IGNORE, MAZE, SUDOKU, svg

BLANK = 1  # the token of a cell that is to be filled in
BANDS = 5
SHOWN = 6  # boards in a picture


def breakdown(predictions: Path) -> dict[str, Any]:
    """For each set of a predictions file: a row per band of difficulty, and how well halting is judged.

    The difficulty of a puzzle is the number of its blank cells; the bands hold about equally many puzzles.
    """
    with np.load(predictions) as file:
        names = sorted({key.partition("__")[0] for key in file.files})
        return {
            name: _one(*(file[f"{name}__{key}"] for key in ("inputs", "labels", "predictions", "q_halt_logits")))
            for name in names
        }


def _one(inputs: NDArray[Any], labels: NDArray[Any], predicted: NDArray[Any], q_halt: NDArray[Any]) -> dict[str, Any]:
    counted = labels != IGNORE
    right = (predicted == labels) & counted
    exact = (right | ~counted).all(1)
    blanks = (inputs == BLANK).sum(1)
    edges = np.unique(blanks)
    if len(edges) > BANDS:
        edges = np.unique(np.quantile(blanks, np.linspace(0, 1, BANDS + 1)[:-1]).astype(int))
    band = np.searchsorted(edges, blanks, side="right") - 1
    rows = []
    for number in np.unique(band):
        mine = band == number
        rows.append(
            {
                "blanks": f"{blanks[mine].min()}-{blanks[mine].max()}",
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


def picture(predictions: Path) -> str:
    """The first boards of the first set as SVG, those with mistakes before the others."""
    with np.load(predictions) as file:
        name = sorted({key.partition("__")[0] for key in file.files})[0]
        inputs, labels, predicted = (file[f"{name}__{key}"] for key in ("inputs", "labels", "predictions"))
    wrong = ((predicted != labels) & (labels != IGNORE)).sum(1)
    order = np.argsort(wrong == 0, kind="stable")[:SHOWN]
    charset = SUDOKU if inputs.shape[1] in (16, 81, 256) else MAZE
    return svg([(inputs[row], predicted[row], labels[row]) for row in order], charset)
