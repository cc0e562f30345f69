"""Puzzles as text, for logs and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.info import IGNORE
from ..data.sudoku.rules import box_shape

SUDOKU = "?.123456789ABCDEFG"  # pad, blank, digits
MAZE = "?# SGo"
ARC = " .0123456789"  # pad, the border, colours


def draw(tokens: ArrayLike, charset: str = SUDOKU, against: ArrayLike | None = None) -> str:
    """A square grid of tokens as lines of text; a Sudoku with its boxes.

    Args:
        tokens: [side * side] indices into `charset`.
        against: the right tokens; cells that differ from them are marked with `!`.
    """
    grid = _square(tokens)
    side = len(grid)
    wrong = (
        np.zeros_like(grid, bool)
        if against is None
        else (_square(against) != grid) & (_square(against) != IGNORE)
    )
    high, wide = _box(side, charset)
    width = 1 if against is None else 2
    lines = []
    for r in range(side):
        cells = [
            _cell(int(grid[r, c]), charset) + ("!" if wrong[r, c] else "" if width == 1 else " ")
            for c in range(side)
        ]
        lines.append(" | ".join(" ".join(cells[c : c + wide]) for c in range(0, side, wide)).rstrip())
        if (r + 1) % high == 0 and r + 1 < side:
            rule = "-" * ((width + 1) * wide - 1)
            lines.append("-+-".join([rule] * (side // wide)))
    return "\n".join(lines)


def _box(side: int, charset: str) -> tuple[int, int]:
    """Rows and columns between two lines."""
    return box_shape(side) if charset == SUDOKU else (side, side)


def side_by_side(*drawings: str, gap: str = "    ") -> str:
    """Drawings of equal height next to each other."""
    blocks: Sequence[list[str]] = [
        drawing.split("\n") for drawing in drawings
    ]  # splitlines would drop an empty last row
    widths = [max(map(len, block)) for block in blocks]
    rows = zip(*blocks, strict=True)
    return "\n".join(
        gap.join(line.ljust(width) for line, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def svg(
    boards: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]], charset: str = SUDOKU, cell: int = 28
) -> str:
    """Boards as an SVG picture, one below another: the question, and beside it the prediction.

    Args:
        boards: question, prediction and right answer of each, [side * side] tokens. Given cells are bold,
            wrong ones red.
        cell: pixels a cell.
    """
    side = len(_square(boards[0][0])) if boards else 0
    box = _box(side, charset)
    width, height = (2 * side + 1) * cell + 2, (side + 1) * cell * len(boards) + 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="sans-serif" text-anchor="middle">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, board in enumerate(boards):
        question, prediction, answer = (_square(tokens) for tokens in board)
        top = number * (side + 1) * cell + 1
        for left, grid in ((1, question), ((side + 1) * cell + 1, prediction)):
            wrong = (grid != answer) & (answer != IGNORE) & (left > 1)
            parts += _svg_cells(grid, question == answer, wrong, left, top, cell, charset)
            parts += _svg_lines(side, box, left, top, cell)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_cells(
    grid: NDArray[np.int64],
    given: NDArray[np.bool_],
    wrong: NDArray[np.bool_],
    left: int,
    top: int,
    cell: int,
    charset: str,
) -> list[str]:
    parts = []
    for (r, c), token in np.ndenumerate(grid):
        text, x, y = _cell(int(token), charset), left + c * cell, top + r * cell
        if wrong[r, c]:
            parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="#fbd5d5"/>')
        if text not in ". ":
            style = (
                ' fill="#b00020"' if wrong[r, c] else ' font-weight="bold"' if given[r, c] else ' fill="#345"'
            )
            parts.append(
                f'<text x="{x + cell / 2:g}" y="{y + cell * 0.7:g}" '
                f'font-size="{cell * 0.6:g}"{style}>{text}</text>'
            )
    return parts


def _svg_lines(side: int, box: tuple[int, int], left: int, top: int, cell: int) -> list[str]:
    parts, end = [], side * cell
    for line in range(side + 1):
        for every, path in zip(
            box, (f"M{left} {top + line * cell}h{end}", f"M{left + line * cell} {top}v{end}"), strict=True
        ):
            parts.append(f'<path d="{path}" stroke="#222" stroke-width="{2 if line % every == 0 else 0.5}"/>')
    return parts


def _square(tokens: ArrayLike) -> NDArray[np.int64]:
    flat = np.asarray(tokens, dtype=np.int64).ravel()
    side = math.isqrt(flat.size)
    if side * side != flat.size:
        raise ValueError(f"{flat.size} tokens are no square grid")
    return flat.reshape(side, side)


def _cell(token: int, charset: str) -> str:
    return charset[token] if 0 <= token < len(charset) else "?"
