"""A Sudoku solver that counts solutions and guesses: constraint propagation by bit masks, then search on the
tightest cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from .rules import Boards, peers, units


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver found: the solutions (up to the limit), and how many digits it tried by guess."""

    every: tuple[Boards, ...]
    guesses: int

    @property
    def solutions(self) -> int:
        return len(self.every)

    @property
    def answer(self) -> Boards | None:
        """The first solution."""
        return self.every[0] if self.every else None


@cache
def _unit_lists(side: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(unit) for unit in units(side).tolist())


def solve(board: Boards, limit: int = 2, rng: np.random.Generator | None = None) -> Solved:
    """Searches for up to `limit` solutions of `board`.

    With the default limit, `solutions == 1` proves that the solution is unique; 0 that there is none.
    `guesses` is 0 when naked and hidden singles suffice. With `rng`, digits are tried in random order (to
    draw a random full board).
    """
    side = math.isqrt(board.size)
    search = _Search(side, limit, rng)
    masks = [(1 << side) - 1] * board.size
    if all(search.place(masks, cell, 1 << (digit - 1)) for cell, digit in enumerate(board.tolist()) if digit):
        search.run(masks)
    return Solved(tuple(search.found), search.guesses)


class _Search:
    """Depth-first search. `masks` holds a bit per digit that a cell may still take."""

    def __init__(self, side: int, limit: int, rng: np.random.Generator | None) -> None:
        self.peers, self.units = peers(side), _unit_lists(side)
        self.limit, self.rng = limit, rng
        self.found: list[Boards] = []
        self.guesses = 0

    def place(self, masks: list[int], cell: int, bit: int) -> bool:
        """Puts a digit and every naked single that follows; False on a contradiction."""
        if not masks[cell] & bit:
            return False
        masks[cell] = bit
        queue = [cell]
        while queue:
            source = queue.pop()
            bit = masks[source]
            for peer in self.peers[source]:
                left = masks[peer]
                if left & bit:
                    left &= ~bit
                    if not left:
                        return False
                    masks[peer] = left
                    if not left & (left - 1):
                        queue.append(peer)
        return True

    def hidden_singles(self, masks: list[int]) -> bool:
        """Places digits that have one cell left in a unit, until none is left; False on a contradiction."""
        again = True
        while again:
            again = False
            for unit in self.units:
                once = twice = 0
                for cell in unit:
                    mask = masks[cell]
                    twice |= once & mask
                    once |= mask
                if once != (1 << len(unit)) - 1:
                    return False
                once &= ~twice
                for cell in unit:
                    bit = masks[cell] & once
                    if bit and masks[cell] != bit:
                        if bit & (bit - 1) or not self.place(masks, cell, bit):
                            return False
                        again = True
        return True

    def run(self, masks: list[int]) -> None:
        if not self.hidden_singles(masks):
            return
        open_cells = [(mask.bit_count(), cell) for cell, mask in enumerate(masks) if mask & (mask - 1)]
        if not open_cells:
            self.found.append(np.array([mask.bit_length() for mask in masks], np.int8))
            return
        cell = min(open_cells)[1]
        bits = [1 << shift for shift in range(masks[cell].bit_length()) if masks[cell] >> shift & 1]
        if self.rng is not None:
            self.rng.shuffle(bits)
        for bit in bits:
            if len(self.found) >= self.limit:
                return
            self.guesses += 1
            trial = masks.copy()
            if self.place(trial, cell, bit):
                self.run(trial)
