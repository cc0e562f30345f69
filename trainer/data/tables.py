"""Sudoku tables in the format of Sudoku-Extreme: checked boards made of rows ('.' or 0 is a blank cell)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import InputError

from .rows import Rows
from .sudoku.rules import SIDES, Boards, is_solution

_DIGITS = np.full(256, -1, np.int8)
for _value, _char in enumerate("0123456789ABCDEFG"):
    _DIGITS[ord(_char)] = _value
_DIGITS[ord(".")] = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Puzzles of one side: questions and answers [N, side * side], ratings [N]."""

    questions: Boards
    answers: Boards
    ratings: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Table:
        return Table(self.questions[index], self.answers[index], self.ratings[index])


def read_table(file: str | Path, blocks: Iterable[Rows]) -> Table:
    """Checked puzzles of `blocks`.

    Args:
        file: the name that errors give.

    Raises:
        InputError: names the line of the first row that is no puzzle with its solution.
    """
    parts: list[Table] = []
    for rows in blocks:
        cells = parts[0].questions.shape[1] if parts else _cells(file, rows)
        parts.append(_parse(file, rows, cells))
    if not parts:
        raise InputError("holds no puzzles", file=file)
    return Table(
        *(np.concatenate(c) for c in zip(*((p.questions, p.answers, p.ratings) for p in parts), strict=True))
    )


def check_lengths(file: str | Path, rows: Rows, cells: int) -> None:
    """Refuses rows whose question or answer has not `cells` ASCII characters, or whose rating is no whole
    number."""
    for kind, texts in (("question", rows.questions), ("answer", rows.answers)):
        for offset, text in enumerate(texts):
            if text is None or len(text) != cells or not text.isascii():
                raise InputError(
                    f"the {kind} does not have {cells} cells", file=file, line=rows.line + offset
                )
    for offset, rating in enumerate(rows.ratings):
        if not rating.lstrip("-").isdecimal():
            raise InputError(
                f"the rating {rating[:20]!r} is no whole number", file=file, line=rows.line + offset
            )


def first_wrong(file: str | Path, rows: Rows, problems: Iterable[tuple[NDArray[np.bool_], str]]) -> None:
    """Raises for the first row that one of the masks marks."""
    for wrong, what in problems:
        if wrong.any():
            raise InputError(what, file=file, line=rows.line + int(wrong.argmax()))


def codes(texts: list[str]) -> NDArray[np.uint8]:
    """[N, cells]: the character codes of texts of equal length."""
    return np.frombuffer("".join(texts).encode("ascii"), np.uint8).reshape(len(texts), -1)


def _cells(file: str | Path, rows: Rows) -> int:
    cells = len(rows.questions[0])
    if cells not in [side * side for side in SIDES]:
        known = ", ".join(str(side * side) for side in SIDES)
        raise InputError(
            f"the question has {cells} cells, which is none of {known}", file=file, line=rows.line
        )
    return cells


def _parse(file: str | Path, rows: Rows, cells: int) -> Table:
    check_lengths(file, rows, cells)
    question, answer = _DIGITS[codes(rows.questions)], _DIGITS[codes(rows.answers)]
    side = math.isqrt(cells)
    problems: tuple[tuple[NDArray[np.bool_], str], ...] = (
        (
            np.any((question < 0) | (question > side), axis=1),
            "the question holds a character that is no digit of this board",
        ),
        (~is_solution(answer), "the answer breaks the rules"),
        (np.any((question > 0) & (question != answer), axis=1), "the answer contradicts the question"),
    )
    first_wrong(file, rows, problems)
    return Table(question, answer, np.array([int(rating) for rating in rows.ratings], np.int64))
