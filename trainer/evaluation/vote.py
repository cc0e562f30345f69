"""ARC as HRM's authors score it (`arc_eval.ipynb`): the augmentations of a task vote on its answer.

Each prediction is cropped, its colours and its symmetry are undone, and equal grids are counted. The k grids
with the most votes (among equals, those that the halting head is surest of) are the k tries of pass@k; ARC
allows two. A task counts where every one of its test inputs is answered.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from ..data.arc import FIRST_COLOUR
from ..data.arc_files import SIDE
from ..data.info import IGNORE
from ..data.maze import undo_dihedral
from .passk import wilson

TRIES = (1, 2, 10, 100, 1000)
AUGMENTED = re.compile(r"(?P<name>.+)_t(?P<turn>[0-7])_(?P<colours>\d{10})")
BLOCK = 10_000  # rows that are cropped at a time
Grid = NDArray[np.uint8]
Answer = tuple[tuple[int, ...], bytes]
"""A grid that can be counted: its shape and its cells."""


def vote(predictions: Path, identifiers: Path) -> dict[str, Any]:
    """pass@k over the tasks of a predictions file, with 95 % intervals.

    Args:
        identifiers: the dataset's `identifiers.json`, which names the puzzles.

    Raises:
        InputError: it names fewer puzzles than the predictions have, or no task without an augmentation.
    """
    names = read_identifiers(identifiers)
    labels: dict[str, dict[Answer, Answer]] = defaultdict(dict)
    votes: dict[tuple[str, Answer], dict[Answer, list[float]]] = defaultdict(lambda: defaultdict(list))
    with np.load(predictions) as file:
        sets = sorted({key.partition("__")[0] for key in file.files})
        for one in sets:
            ids, asked, right, given = (
                file[f"{one}__{key}"] for key in ("puzzle_identifiers", "inputs", "labels", "predictions")
            )
            sure = 1 / (1 + np.exp(-file[f"{one}__q_halt_logits"].astype(np.float64)))
            if len(ids) and ids.max() >= len(names):
                raise InputError(f"names {len(names)} puzzles, the data have more", file=identifiers)
            _collect(names, ids, asked, right, given, sure, labels, votes)
    if not labels:
        raise InputError(
            "names no task without an augmentation, so nothing can be voted on", file=identifiers
        )
    solved = dict.fromkeys(TRIES, 0)
    for name, tests in labels.items():
        ranks = [_rank(votes[name, question], answer) for question, answer in tests.items()]
        for k in TRIES:
            solved[k] += all(rank < k for rank in ranks)
    counted = sum(len(found) for voted in votes.values() for found in voted.values())
    questions = sum(map(len, labels.values()))
    return {
        "tasks": len(labels),
        "questions": questions,
        "votes_per_question": round(counted / questions, 2),
        **{f"pass@{k}": asdict(wilson(solved[k], len(labels))) for k in TRIES},
    }


def votes(found: dict[str, Any]) -> str:
    """The outcome of a vote as a line for a person."""
    shares = []
    for k in TRIES[:2]:
        share = found[f"pass@{k}"]
        interval = f"95 % interval {share['low']:.1%} to {share['high']:.1%}"
        shares.append(f"pass@{k} {share['estimate']:.1%} ({interval})")
    many = f"{found['tasks']:,} tasks, {found['votes_per_question']:g} votes a question"
    return f"vote of the augmentations: {', '.join(shares)}; {many}\n"


def read_identifiers(file: Path) -> list[str]:
    """The names of the puzzles.

    Raises:
        InputError: the file cannot be read or is no list of names.
    """
    try:
        names = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", file=file, hint="it belongs to an ARC dataset"
        ) from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("is no list of names", file=file)
    return names


def crop(cells_NC: NDArray[Any]) -> list[Grid]:
    """The grids on canvases [N, SIDE * SIDE]: the largest rectangle at the corner that holds nothing but
    colours."""
    sheets = cells_NC.reshape(-1, SIDE, SIDE)
    colours = (sheets >= FIRST_COLOUR) & (sheets < FIRST_COLOUR + 10)
    lead = np.where(colours.all(2), SIDE, colours.argmin(2))  # colours at the beginning of each row
    width = np.minimum.accumulate(lead, axis=1)
    height = (width * np.arange(1, SIDE + 1)).argmax(1)
    return [
        (sheet[: rows + 1, :columns] - FIRST_COLOUR).astype(np.uint8)
        for sheet, rows, columns in zip(sheets, height, width[np.arange(len(sheets)), height], strict=True)
    ]


def undo(name: str, grid: Grid) -> Grid:
    """The grid of the task that the puzzle `name` is an augmentation of."""
    found = AUGMENTED.fullmatch(name)
    if found is None:
        return grid
    return np.argsort(list(found["colours"])).astype(np.uint8)[undo_dihedral(grid, int(found["turn"]))]


def _collect(
    names: list[str],
    ids: NDArray[Any],
    inputs: NDArray[Any],
    labels: NDArray[Any],
    predicted: NDArray[Any],
    sure: NDArray[np.float64],
    answers: dict[str, dict[Answer, Answer]],
    votes: dict[tuple[str, Answer], dict[Answer, list[float]]],
) -> None:
    for start in range(0, len(ids), BLOCK):
        part = slice(start, start + BLOCK)
        marked = np.where(labels[part] == IGNORE, 0, labels[part])
        grids = zip(crop(inputs[part]), crop(marked), crop(predicted[part]), strict=True)
        for number, certainty, (question, label, guess) in zip(ids[part], sure[part], grids, strict=True):
            if number == 0:
                continue  # padding
            name = names[number]
            augmented = AUGMENTED.fullmatch(name)
            task = name if augmented is None else augmented["name"]
            asked = _answer(undo(name, question))
            if augmented is None:
                answers[task][asked] = _answer(label)
            votes[task, asked][_answer(undo(name, guess))].append(float(certainty))


def _answer(grid: Grid) -> Answer:
    return grid.shape, np.ascontiguousarray(grid).tobytes()


def _rank(voted: dict[Answer, list[float]], right: Answer) -> float:
    """The place of the right answer among those voted for, from 0; infinite where nobody did."""
    order = sorted(voted.items(), key=lambda item: (len(item[1]), sum(item[1]) / len(item[1])), reverse=True)
    return next((place for place, (answer, _) in enumerate(order) if answer == right), np.inf)
