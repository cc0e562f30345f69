"""Builds Sudoku datasets: from tables in the format of Sudoku-Extreme, or from the built-in generator."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hrmdoc.errors import ConfigError, InputError, did_you_mean

from .info import DataInfo
from .rows import csv_rows, split_rows
from .sudoku.generate import dig, dig_singles, full_board
from .sudoku.rules import Boards, canonical, shuffle, to_tokens
from .sudoku.solver import solve
from .tables import Table, read_table
from .write import publish, write_identifiers, write_split


def build_sudoku(
    source: str | Path,
    output: str | Path,
    *,
    subsample_size: int | None = None,
    min_difficulty: int | None = None,
    num_aug: int = 0,
    test_fraction: float = 0.1,
    seed: int = 0,
) -> Path:
    """Builds a dataset in HRM's layout from a table.

    Args:
        source: a folder with train.csv and test.csv; one CSV file, of which a random `test_fraction` becomes
            the test set; or the id of a `datasets` repository such as `sapientinc/sudoku-extreme`.
        output: the dataset's folder.
        subsample_size: keep that many random training puzzles.
        min_difficulty: keep puzzles with at least this rating.
        num_aug: random equivalents added to each training puzzle; they form a group with it.
        seed: of the subsample, the split and the equivalents.
    """
    rng = np.random.default_rng(seed)
    train, test = _read(source, test_fraction, rng)
    if min_difficulty is not None:
        train, test = train.take(train.ratings >= min_difficulty), test.take(test.ratings >= min_difficulty)
    for name, table in (("training", train), ("test", test)):
        if not len(table):
            raise InputError(
                f"no {name} puzzle is left", file=source, hint="lower min_difficulty or give more puzzles"
            )
    if train.questions.shape[1] != test.questions.shape[1]:
        raise InputError("training and test boards differ in size", file=source)
    if subsample_size is not None and subsample_size < len(train):
        train = train.take(np.sort(rng.choice(len(train), subsample_size, replace=False)))
    return write_sudoku(
        output, (train.questions, train.answers), (test.questions, test.answers), num_aug, rng
    )


def write_sudoku(
    output: str | Path,
    train: tuple[Boards, Boards],
    test: tuple[Boards, Boards],
    num_aug: int,
    rng: np.random.Generator,
) -> Path:
    """Writes training and test puzzles (questions, answers) as a dataset; complete or absent."""
    cells = train[0].shape[1]
    info = DataInfo(vocab_size=math.isqrt(cells) + 2, seq_len=cells)
    questions, answers = _augment(*train, num_aug, rng)
    groups = np.arange(len(train[0]) + 1) * (num_aug + 1)
    with publish(output) as building:
        write_split(building, "train", info, to_tokens(questions), to_tokens(answers), group_indices=groups)
        write_split(building, "test", info, to_tokens(test[0]), to_tokens(test[1]))
        write_identifiers(building)
    return Path(output)


def _read(source: str | Path, test_fraction: float, rng: np.random.Generator) -> tuple[Table, Table]:
    if not Path(source).is_file():
        train, test = (read_table(*split_rows(source, split)) for split in ("train", "test"))
        return train, test
    table = read_table(source, csv_rows(source))
    order = rng.permutation(len(table))
    cut = max(1, round(len(table) * test_fraction))
    return table.take(np.sort(order[cut:])), table.take(np.sort(order[:cut]))


def _augment(
    questions: Boards, answers: Boards, num_aug: int, rng: np.random.Generator
) -> tuple[Boards, Boards]:
    """Each puzzle followed by its `num_aug` equivalents."""
    if not num_aug:
        return questions, answers
    pairs = [
        shuffle(question, answer, num_aug, rng) for question, answer in zip(questions, answers, strict=True)
    ]
    both = ((questions, [q for q, _ in pairs]), (answers, [a for _, a in pairs]))
    new_q, new_a = (
        np.concatenate((old[:, None], np.stack(new)), 1).reshape(-1, old.shape[1]) for old, new in both
    )
    return new_q, new_a


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a built-in set is generated. Training and test never share a solution, at side 6 not even up to
    symmetry."""

    side: int
    clues: int
    train: int
    test: int
    num_aug: int
    guessing: bool  # False: naked and hidden singles suffice


BUILTIN = {
    "sudoku-4x4": Recipe(side=4, clues=6, train=1024, test=256, num_aug=0, guessing=True),
    "sudoku-6x6": Recipe(side=6, clues=14, train=1000, test=200, num_aug=50, guessing=False),
    "sudoku-beginner": Recipe(side=9, clues=73, train=1000, test=200, num_aug=20, guessing=False),
    "sudoku-easy": Recipe(side=9, clues=50, train=1000, test=200, num_aug=20, guessing=False),
    "sudoku-medium": Recipe(side=9, clues=34, train=1000, test=200, num_aug=50, guessing=False),
    "sudoku-hard": Recipe(side=9, clues=25, train=250, test=100, num_aug=200, guessing=True),
}
_VERSION = 1
"""Of the recipes and the generator; part of the folder's name, so that a change never meets an old cache."""


def recipe_of(name: str) -> Recipe:
    """How the built-in dataset `name` is generated.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in BUILTIN:
        hint = did_you_mean(name, BUILTIN) or f"one of: {', '.join(BUILTIN)}"
        raise ConfigError(f"there is no built-in dataset {name!r}", hint=hint)
    return BUILTIN[name]


def builtin(name: str, output: str | Path | None = None) -> Path:
    """The folder of a built-in dataset, generated on first use from a fixed seed (so the same for every user
    of a numpy release).

    Args:
        name: sudoku-4x4, sudoku-6x6 (boxes of 2 rows and 3 columns, 14 clues), and of side 9: sudoku-beginner
            (73 clues), sudoku-easy (50 clues), sudoku-medium (34 clues) or sudoku-hard (25 clues, most need
            guesses).
        output: the folder; by default one in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`).
    """
    recipe = recipe_of(name)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    target = cache / "hrmdoc" / "data" / f"{name}-v{_VERSION}" if output is None else Path(output)
    if (target / "train" / "dataset.json").is_file():
        return target
    rng = np.random.default_rng([_VERSION, *name.encode()])
    train, test = _generate(recipe, rng)
    return write_sudoku(target, train, test, recipe.num_aug, rng)


def _generate(
    recipe: Recipe, rng: np.random.Generator
) -> tuple[tuple[Boards, Boards], tuple[Boards, Boards]]:
    count = recipe.train + recipe.test
    if recipe.side == 4:  # 288 boards exist: share them out first
        solutions = all_boards(4)[rng.permutation(288)]
        cut = 288 * recipe.train // count
        train, test = solutions[:cut], solutions[cut:]
        answers = np.concatenate(
            (train[rng.integers(cut, size=recipe.train)], test[rng.integers(288 - cut, size=recipe.test)])
        )
    elif recipe.side == 6:
        answers = _by_class(recipe, rng)
    else:
        answers = _different(recipe.side, count, rng)
    if recipe.guessing:
        questions = np.stack([dig(answer, recipe.clues, rng).question for answer in answers])
    else:
        questions = dig_singles(answers, recipe.clues, rng)
    return (questions[: recipe.train], answers[: recipe.train]), (
        questions[recipe.train :],
        answers[recipe.train :],
    )


def _different(side: int, count: int, rng: np.random.Generator) -> Boards:
    unique: dict[bytes, Boards] = {}
    while len(unique) < count:
        board = full_board(side, rng)
        unique[board.tobytes()] = board
    return np.stack(list(unique.values()))


def _by_class(recipe: Recipe, rng: np.random.Generator) -> Boards:
    """Solutions for training, then for the test: no test board is a renaming or symmetry of a training
    one."""
    boards = _different(recipe.side, 2 * (recipe.train + recipe.test), rng)
    classes = np.unique([canonical(board) for board in boards], return_inverse=True)[1]
    held, away = np.zeros(len(boards), bool), iter(rng.permutation(classes.max() + 1))
    while held.sum() < recipe.test:
        held |= classes == next(away)
    return np.concatenate((boards[~held][: recipe.train], boards[held][: recipe.test]))


def all_boards(side: int) -> Boards:
    """Every solution of a blank board, in the solver's order. There are 288 of side 4 (and 6.7e21 of side 9:
    do not ask)."""
    return np.stack(solve(np.zeros(side * side, np.int8), limit=10**9).every)
