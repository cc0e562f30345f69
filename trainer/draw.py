"""Puzzles as text, for logs and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

SUDOKU = "?.123456789ABCDEFG"  # pad, blank, digits
MAZE = "?# SGo"
IGNORE = -100


def draw(tokens: ArrayLike, charset: str = SUDOKU, box: int | None = None, against: ArrayLike | None = None) -> str:
    """A square grid of tokens as lines of text.

    Args:
        tokens: [side * side] indices into `charset`.
        box: draw a line after every `box` rows and columns; by default Sudoku's root of the side for the Sudoku charset.
        against: the right tokens; cells that differ from them are marked with `!`.
    """
    grid = _square(tokens)
    side = len(grid)
    wrong = np.zeros_like(grid, bool) if against is None else (_square(against) != grid) & (_square(against) != IGNORE)
    box = (math.isqrt(side) if charset == SUDOKU else side) if box is None else box
    width = 1 if against is None else 2
    lines = []
    for r in range(side):
        cells = [_cell(int(grid[r, c]), charset) + ("!" if wrong[r, c] else "" if width == 1 else " ") for c in range(side)]
        lines.append(" | ".join(" ".join(cells[c : c + box]) for c in range(0, side, box)).rstrip())
        if box < side and (r + 1) % box == 0 and r + 1 < side:
            rule = "-" * ((width + 1) * box - 1)
            lines.append("-+-".join([rule] * (side // box)))
    return "\n".join(lines)


def side_by_side(*drawings: str, gap: str = "    ") -> str:
    """Drawings of equal height next to each other."""
    blocks: Sequence[list[str]] = [drawing.splitlines() for drawing in drawings]
    widths = [max(map(len, block)) for block in blocks]
    rows = zip(*blocks, strict=True)
    return "\n".join(gap.join(line.ljust(width) for line, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _square(tokens: ArrayLike) -> NDArray[np.int64]:
    flat = np.asarray(tokens, dtype=np.int64).ravel()
    side = math.isqrt(flat.size)
    if side * side != flat.size:
        raise ValueError(f"{flat.size} tokens are no square grid")
    return flat.reshape(side, side)


def _cell(token: int, charset: str) -> str:
    return charset[token] if 0 <= token < len(charset) else "?"
