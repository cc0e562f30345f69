"""What every Sudoku obeys, for any side: its rows, columns and boxes, its symmetries, its tokens.

A board is an int8 array [side * side] of 0 (blank) or 1..side, read row by row. Boxes are as near to squares
as the side allows, and where they are not they lie down: 2 rows of 3 columns at side 6.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

Boards = NDArray[np.int8]


SIDES = (4, 6, 8, 9, 10, 12, 16)  # that have boxes, as far as digits are known


def box_shape(side: int) -> tuple[int, int]:
    """Rows and columns of a box."""
    rows = max(n for n in range(1, math.isqrt(side) + 1) if side % n == 0)
    return rows, side // rows


@cache
def units(side: int) -> NDArray[np.int64]:
    """[3 * side, side]: the cells of each row, column and box."""
    high, wide = box_shape(side)
    cells = np.arange(side * side).reshape(side, side)
    boxes = cells.reshape(side // high, high, side // wide, wide).transpose(0, 2, 1, 3).reshape(side, side)
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

    Digits are renamed, the board is transposed in half of the copies if its boxes are squares, bands and the
    rows in each band are permuted, and so are stacks and columns. All of these keep validity, the number of
    solutions and the logical difficulty.
    """
    side = math.isqrt(question.size)
    high, wide = box_shape(side)
    digits = np.zeros((copies, side + 1), np.int8)
    digits[:, 1:] = rng.permuted(np.tile(np.arange(1, side + 1, dtype=np.int8), (copies, 1)), axis=1)
    rows, columns = _line_order(side, high, copies, rng), _line_order(side, wide, copies, rng)
    cells = rows[:, :, None] * side + columns[:, None, :]
    turned = (rng.random(copies) < 0.5) & (high == wide)
    cells[turned] = cells[turned].transpose(0, 2, 1)
    cells = cells.reshape(copies, side * side)
    pick = np.arange(copies)[:, None]
    return digits[pick, question[cells]], digits[pick, answer[cells]]


def _line_order(side: int, height: int, copies: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """[copies, side]: orders of lines that keep the bands of `height` lines together."""
    bands = rng.random((copies, side // height)).argsort(1)
    within = rng.random((copies, side // height, height)).argsort(2)
    return (bands[:, :, None] * height + within).reshape(copies, side)


@cache
def _orders(side: int, height: int) -> NDArray[np.int64]:
    """Every order of lines that keeps the bands together, [orders, side]."""
    lines = np.arange(side).reshape(-1, height)
    bands = list(permutations(range(side // height)))
    within = list(product(permutations(range(height)), repeat=side // height))
    return np.array(
        [
            [lines[band][place] for band, inner in zip(order, inside, strict=True) for place in inner]
            for order in bands
            for inside in within
        ]
    )


def canonical(board: Boards) -> bytes:
    """The least of all equivalents of a full board: two boards are renamings and symmetries of each other if
    theirs are equal.

    Tries 128 equivalents at side 4 and 3,456 at side 6; the 3.4 million at side 9 would be too many (and 5.5
    billion classes of boards are so many that two random ones are never equivalent).
    """
    side = math.isqrt(board.size)
    high, wide = box_shape(side)
    if side > 6:
        raise ValueError(f"the equivalents of a board of side {side} are too many to try")
    grids = [board.reshape(side, side)]
    if high == wide:
        grids.append(grids[0].T)
    rows, columns = _orders(side, high), _orders(side, wide)
    every = np.concatenate(
        [grid[rows[:, None, :, None], columns[None, :, None, :]].reshape(-1, side * side) for grid in grids]
    )
    names = np.zeros(
        (len(every), side + 1), every.dtype
    )  # digits are renamed so that the first row counts up
    names[np.arange(len(every))[:, None], every[:, :side]] = np.arange(1, side + 1)
    renamed: Boards = names[np.arange(len(every))[:, None], every]
    return min(bytes(row) for row in renamed)


def to_tokens(boards: Boards) -> NDArray[np.uint8]:
    """Tokens of HRM's Sudoku sets: 0 is padding, 1 a blank, 2 the digit 1, and so on."""
    return (boards + 1).astype(np.uint8)
