"""Generates Sudoku puzzles with exactly one solution, seeded, graded by their clues and by the guesses they
need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rules import Boards, peers, units
from .solver import solve


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A puzzle, its one solution, the number of given cells, and the solver's guesses (0: singles
    suffice)."""

    question: Boards
    answer: Boards
    clues: int
    guesses: int


def full_board(side: int, rng: np.random.Generator) -> Boards:
    """A random solution."""
    first = np.zeros(side * side, np.int8)
    first[:side] = rng.permutation(side) + 1
    answer = solve(first, limit=1, rng=rng).answer
    assert answer is not None, "a free first row always extends to a solution"
    return answer


def dig(answer: Boards, clues: int, rng: np.random.Generator) -> Puzzle:
    """Blanks cells of `answer` in random order as long as it stays the only solution, down to `clues` given
    cells."""
    question = answer.copy()
    given = question.size
    for cell in rng.permutation(question.size):
        if given <= clues:
            break
        digit, question[cell] = question[cell], 0
        if solve(question).solutions == 1:
            given -= 1
        else:
            question[cell] = digit
    return Puzzle(question, answer, given, solve(question).guesses)


def generate(
    count: int,
    side: int = 9,
    clues: int = 30,
    seed: int = 0,
    min_guesses: int = 0,
    max_guesses: int | None = None,
) -> list[Puzzle]:
    """`count` different puzzles of about `clues` given cells whose grade lies in [min_guesses, max_guesses].

    Digging stops early where no cell can be blanked, so a puzzle can keep more clues. Each puzzle takes some
    50 solver calls; puzzles outside the grade are thrown away, so a rare grade takes long.
    """
    rng = np.random.default_rng(seed)
    found: dict[bytes, Puzzle] = {}
    while len(found) < count:
        puzzle = dig(full_board(side, rng), clues, rng)
        if puzzle.guesses >= min_guesses and (max_guesses is None or puzzle.guesses <= max_guesses):
            found.setdefault(puzzle.question.tobytes(), puzzle)
    return list(found.values())


def dig_singles(answers: Boards, clues: int, rng: np.random.Generator) -> Boards:
    """Blanks cells of many boards [N, side * side] at once, keeping each solvable by naked and hidden singles
    alone.

    Singles never guess, so what they solve has one solution: this needs no search and digs a thousand boards
    in seconds.
    """
    N, cells = answers.shape
    questions = answers.copy()
    order = rng.random((N, cells)).argsort(1)
    for column in order.T:
        active = np.flatnonzero((questions > 0).sum(1) > clues)
        if not active.size:
            break
        trial = questions[active].copy()
        trial[np.arange(active.size), column[active]] = 0
        solved = singles_solve(trial)
        questions[active[solved]] = trial[solved]
    return questions


def singles_solve(questions: Boards) -> NDArray[np.bool_]:
    """[N]: which boards naked and hidden singles fill completely."""
    N, cells = questions.shape
    side = math.isqrt(cells)
    full = (1 << side) - 1
    near = np.array(peers(side))
    in_units = units(side)
    digit = np.where(questions > 0, 1 << np.maximum(questions.astype(np.int32) - 1, 0), 0)
    done = np.zeros(N, bool)
    rows = np.arange(N)
    while rows.size:
        bits = digit[rows]
        taken = np.bitwise_or.reduce(bits[:, near], axis=2)
        may = np.where(bits > 0, bits, full & ~taken)
        naked = (may & (may - 1) == 0) & (bits == 0)
        new = np.where(naked, may, 0)
        for unit in in_units:
            part = may[:, unit]
            before = np.bitwise_or.accumulate(part, axis=1)
            after = np.bitwise_or.accumulate(part[:, ::-1], axis=1)[:, ::-1]
            others = np.zeros_like(part)
            others[:, 1:] |= before[:, :-1]
            others[:, :-1] |= after[:, 1:]
            only = part & ~others
            new[:, unit] |= np.where(bits[:, unit] == 0, only & (~only + 1), 0)
        digit[rows] = bits | new
        complete = (digit[rows] > 0).all(1)
        done[rows[complete]] = True
        rows = rows[~complete & (new > 0).any(1)]
    return done
