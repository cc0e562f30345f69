"""Builds maze datasets in HRM's layout from tables such as `sapientinc/maze-30x30-hard-1k`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .info import DataInfo
from .rows import split_rows
from .tables import check_lengths, codes, first_wrong
from .write import publish, write_identifiers, write_split

CHARSET = "# SGo"  # wall, free, start, goal, the path of the answer; tokens 1 to 5, 0 is padding
_TOKENS = np.zeros(256, np.uint8)
for _token, _char in enumerate(CHARSET, 1):
    _TOKENS[ord(_char)] = _token


def dihedral(grids: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """One of the 8 symmetries of the square, applied to grids [..., rows, columns], in the reference's
    numbers, which the names of ARC's augmentations hold: `turn` quarter turns up to 3, mirrored left to
    right, top to bottom, transposed, and mirrored after a quarter turn."""
    if turn in (4, 5):
        return np.flip(grids, -1 if turn == 4 else -2)
    if turn == 6:
        return grids.swapaxes(-2, -1)
    turned = np.rot90(grids, 1 if turn == 7 else turn, axes=(-2, -1))
    return turned[..., ::-1] if turn == 7 else turned


def undo_dihedral(grids: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """The grids that `dihedral` made these of. Mirrors undo themselves."""
    return dihedral(grids, (4 - turn) % 4 if turn < 4 else turn)


def build_maze(
    source: str | Path,
    output: str | Path,
    *,
    aug: bool = False,
    subsample_size: int | None = None,
    seed: int = 0,
) -> Path:
    """Builds a dataset from mazes and their shortest paths.

    Args:
        source: a folder with train.csv and test.csv, or the id of a `datasets` repository.
        output: the dataset's folder.
        aug: add the 7 other symmetries of each training maze to its group.
        subsample_size: keep that many random training mazes.
        seed: of the subsample.
    """
    train, test = _read(source, "train"), _read(source, "test")
    if train.shape[2:] != test.shape[2:]:
        raise InputError("training and test mazes differ in size", file=source)
    if subsample_size is not None and subsample_size < train.shape[1]:
        keep = np.random.default_rng(seed).choice(train.shape[1], subsample_size, replace=False)
        train = train[:, np.sort(keep)]
    turns = range(8) if aug else range(1)
    many = np.stack([dihedral(train, turn) for turn in turns], axis=2)  # [2, mazes, turns, side, side]
    cells = train.shape[-1] ** 2
    info = DataInfo(vocab_size=len(CHARSET) + 1, seq_len=cells)
    with publish(output) as building:
        inputs, labels = many.reshape(2, -1, cells)
        groups = np.arange(train.shape[1] + 1) * len(turns)
        write_split(building, "train", info, inputs, labels, group_indices=groups)
        write_split(building, "test", info, *test.reshape(2, -1, cells))
        write_identifiers(building)
    return Path(output)


def _read(source: str | Path, split: str) -> NDArray[np.uint8]:
    """Questions and answers of a split, [2, mazes, side, side]."""
    name, blocks = split_rows(source, split)
    parts: list[NDArray[np.uint8]] = []
    for rows in blocks:
        cells = parts[0].shape[-1] if parts else len(rows.questions[0])
        if math.isqrt(cells) ** 2 != cells or not cells:
            raise InputError(f"the question has {cells} cells, which is no square", file=name, line=rows.line)
        check_lengths(name, rows, cells)
        part = np.stack([_TOKENS[codes(rows.questions)], _TOKENS[codes(rows.answers)]])
        first_wrong(name, rows, [((part == 0).any((0, 2)), f"holds a character that is none of {CHARSET!r}")])
        parts.append(part)
    if not parts:
        raise InputError("holds no mazes", file=name)
    both = np.concatenate(parts, 1)
    side = math.isqrt(both.shape[-1])
    return both.reshape(2, -1, side, side)
