"""Lines that differ in nothing but their digits: found at once in a block, and read again as the first was.

The outline of a line has a zero for each digit, and no more than three for a number; of a progress bar, how
far it is drawn is left out. Logs repeat a few outlines for ever. What a format learned from the first line of
one, it reads from the numbers of the others alone, and these are taken from the whole block by column. A line
that needs a look of its own gets it.
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hrmdoc.readers.log.formats.base import Again, Silent
from hrmdoc.readers.log.repeats.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Hashable

_MOST_SHAPES = 16_384
_MOST_RECIPES = 256
_MOST_LAYOUTS = 16
"""A shape whose numbers stand elsewhere so often is not learned any more."""
_FAIR_TRIAL = 64
"""Recipes that a shape may have before more lines must have been read by them."""
LONGEST = 4096
"""Bytes of a line whose outline is kept."""

Ints = NDArray[np.int64]


class Recipe(Struct, frozen=True):
    """How to read a line of a shape, as long as nothing changes how lines are read; `shift`: what its zone
    and the half of its day add to its clock."""

    again: Again
    mode: tuple[Hashable, ...]
    shift: float = 0.0


class Shape(Struct):
    """What is known of an outline.

    Attributes:
        used: how many lines were read by a recipe.
        nothing: as `Shapes.nothing` has it.
        silent: how many others gave nothing since one was learned that did not.
        passed: all of its lines, whatever their digits are, give nothing as long as the mode is the same.
    """

    number: int
    layout: Layout | None = None
    layouts: int = 0
    used: int = 0
    silent: int = 0
    nothing: int = -1
    passed: bool = False
    recipes: dict[tuple[str, ...], Recipe] = field(default_factory=dict)

    def learn(self, layout: Layout, key: tuple[str, ...], recipe: Recipe) -> None:
        """Lines like one that was read are read alike from now on."""
        if layout != self.layout:
            self.layouts += 1
            self.layout = layout
            self.recipes.clear()
        if len(self.recipes) >= _MOST_RECIPES:
            self.recipes.clear()
        self.recipes[key] = recipe
        self.silent = 1
        self.passed = isinstance(recipe.again.many, Silent) and not layout.fixed and layout.rank is None

    def recipe(self, key: tuple[str, ...], time: float) -> Recipe | None:
        """How a line is read that has these fixed runs; None where none like it was, or where what would be
        its stamp is no time, and so may be none."""
        stamped = self.layout is not None and self.layout.clock is not None
        return None if stamped and math.isnan(time) else self.recipes.get(key)

    def is_due(self) -> bool:
        """Whether it is worth asking, of one more line that gave nothing, if its like may be passed over: of
        the second one, and where that is in vain, the longer the less often."""
        self.silent += 1
        return self.silent > 1 and self.silent & (self.silent - 1) == 0

    @property
    def learns(self) -> bool:
        """Whether it is worth learning more of it: not where the digits that must be the same hardly ever
        are."""
        return self.layouts < _MOST_LAYOUTS and len(self.recipes) <= max(_FAIR_TRIAL, self.used)


class Shapes:
    """All outlines that are known; forgotten all at once when they become many (prose makes one a line).

    Attributes:
        every: the shapes by their numbers.
        kinds: what the lines of each may be about by their words without digits, see `scan`.
        decimals: how many numbers a line of each holds, see `coverage`.
        nothing: for each number, lines about no more and no less than this give nothing and change nothing;
            -1 where none is known to.
    """

    def __init__(self) -> None:
        self.every: list[Shape] = []
        self.kinds: NDArray[np.uint8] = np.zeros(64, np.uint8)
        self.decimals: Ints = np.zeros(64, np.int64)
        self.nothing: Ints = np.full(64, -1, np.int64)
        self._known: dict[bytes, int] = {}
        self._room: NDArray[np.uint8] = np.empty((2, 0), np.uint8)

    def room(self, size: int) -> NDArray[np.uint8]:
        """Two columns of so many bytes to work in, the same for every block: memory that is new for each
        costs more than what is done in it."""
        if self._room.shape[1] < size:
            self._room = np.empty((2, size + size // 8), np.uint8)
        return self._room[:, :size]

    def of(self, outlines: list[bytes]) -> tuple[Ints, list[int]]:
        """The number of the shape of each outline, and the first rows of new ones. Numbers hold until the
        next call."""
        if len(self.every) > _MOST_SHAPES:
            self.every.clear()
            self.nothing.fill(-1)
            self._known.clear()
        known = self._known
        numbers = np.fromiter(map(known.get, outlines, repeat(-1)), np.int64, len(outlines))
        new = []
        for row in np.flatnonzero(numbers < 0).tolist():
            number = known.get(outlines[row])
            if number is None:
                number = len(self.every)
                self.every.append(Shape(number))
                new.append(row)
                if len(outlines[row]) <= LONGEST:
                    known[outlines[row]] = number
            numbers[row] = number
        if len(self.every) > len(self.nothing):
            more = len(self.every)
            self.kinds = np.concatenate((self.kinds, np.zeros(more, np.uint8)))
            self.decimals = np.concatenate((self.decimals, np.zeros(more, np.int64)))
            self.nothing = np.concatenate((self.nothing, np.full(more, -1, np.int64)))
        return numbers, new
