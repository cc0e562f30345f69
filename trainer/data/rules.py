"""What every Sudoku obeys, for any side n*n: its rows, columns and boxes, its symmetries, its tokens.

A board is an int8 array [side * side] of 0 (blank) or 1..side, read row by row.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Boards = NDArray[np.int8]


@cache
def units(side: int) -> NDArray[np.int64]:
    """[3 * side, side]: the cells of each row, column and box."""
    box = math.isqrt(side)
    cells = np.arange(side * side).reshape(side, side)
    boxes = cells.reshape(box, box, box, box).transpose(0, 2, 1, 3).reshape(side, side)
    return np.concatenate((cells, cells.T, boxes))


@cache
def peers(side: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the cells that may not hold the same digit."""
    seen: list[set[int]] = [set() for _ in range(side * side)]
    for unit in units(side).tolist():
        for cell in unit:
            seen[cell] |= set(unit) - {cell}
    return tuple(tuple(sorted(s)) for s in seen)


def is_solution(boards: Boards) -> NDArray[np.bool_]:
    """[...]: whether each board [..., side * side] is full and obeys the rules."""
    side = math.isqrt(boards.shape[-1])
    in_units = np.sort(boards[..., units(side)], axis=-1)
    right: NDArray[np.bool_] = (in_units == np.arange(1, side + 1)).all((-1, -2))
    return right


def shuffle(question: Boards, answer: Boards, copies: int, rng: np.random.Generator) -> tuple[Boards, Boards]:
    """`copies` random equivalents of one puzzle, [copies, side * side] each.

    Digits are renamed, the board is transposed in half of the copies, bands and the rows in each band are permuted, and so
    are stacks and columns. All of these keep validity, the number of solutions and the logical difficulty.
    """
    side = math.isqrt(question.size)
    digits = np.zeros((copies, side + 1), np.int8)
    digits[:, 1:] = rng.permuted(np.tile(np.arange(1, side + 1, dtype=np.int8), (copies, 1)), axis=1)
    rows, columns = _line_order(side, copies, rng), _line_order(side, copies, rng)
    cells = rows[:, :, None] * side + columns[:, None, :]
    turned = rng.random(copies) < 0.5
    cells[turned] = cells[turned].transpose(0, 2, 1)
    cells = cells.reshape(copies, side * side)
    pick = np.arange(copies)[:, None]
    return digits[pick, question[cells]], digits[pick, answer[cells]]


def _line_order(side: int, copies: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[copies, side]: orders of lines that keep the bands together."""
    box = math.isqrt(side)
    bands = rng.random((copies, box)).argsort(1)
    within = rng.random((copies, box, box)).argsort(2)
    return (bands[:, :, None] * box + within).reshape(copies, side)


def to_tokens(boards: Boards) -> NDArray[np.uint8]:
    """Tokens of HRM's Sudoku sets: 0 is padding, 1 a blank, 2 the digit 1, and so on."""
    return (boards + 1).astype(np.uint8)
