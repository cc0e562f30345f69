"""Lines that differ in nothing but their digits: found at once in a block, and read again as the first was.

The outline of a line has a zero for each digit, and no more than three for a number. Logs repeat a few
outlines for ever. What a format learned from the first line of one, it reads from the numbers of the others
alone, and these are taken from the whole block by column. A line that needs a look of its own gets it.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hrmdoc.readers.log.formats.base import Again
from hrmdoc.readers.log.lines.clocks import with_fraction
from hrmdoc.readers.log.lines.scan import OUTLINE
from hrmdoc.readers.log.repeats.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from hrmdoc.readers.log.lines.clocks import Clocks
    from hrmdoc.readers.log.lines.stream import Block

_MOST_SHAPES = 16_384
_MOST_RECIPES = 256
_MOST_LAYOUTS = 16
"""A shape whose numbers stand elsewhere so often is not learned any more."""
LONGEST = 4096
"""Bytes of a line whose outline is kept."""

Ints = NDArray[np.int64]


class Recipe(Struct, frozen=True):
    """How to read a line of a shape, as long as nothing changes how lines are read."""

    again: Again
    mode: tuple[Hashable, ...]


class Shape(Struct):
    """What is known of an outline.

    Attributes:
        kinds: what its lines may be about by their words without digits, see `scan`.
        nothing: lines about no more and no less than this give nothing and change nothing; -1 where none is
            known to.
    """

    number: int
    kinds: int = -1
    nothing: int = -1
    layout: Layout | None = None
    layouts: int = 0
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

    @property
    def learns(self) -> bool:
        """Whether it is worth learning more of it."""
        return self.layouts < _MOST_LAYOUTS


class Taken(NamedTuple):
    """What one line of a shape holds."""

    numbers: list[str]
    key: tuple[str, ...]
    rank: int | None
    time: float
    text: str


class Outlines:
    """The shapes of the pieces of one block, and their columns."""

    def __init__(self, shapes: Shapes, block: Block, clocks: Clocks) -> None:
        self._clocks = clocks
        data = block.data
        raw = np.frombuffer(data, np.uint8)
        digit = (raw - np.uint8(48)) < 10
        more = digit.copy()
        more[:3] = False
        more[3:] &= digit[2:-1] & digit[1:-2] & digit[:-3]
        outline = np.frombuffer(data.translate(OUTLINE), np.uint8)[~more].tobytes()
        self.shapes, self.new = shapes.of(outline.split(b"\n")[: len(block.ends)])
        edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
        if len(digit) and digit[0]:
            edges = np.concatenate(([0], edges))
        self._starts, self._ends = edges[::2], edges[1::2]
        self._block = block
        self._text = data.decode("latin-1")
        self._ready = False
        self._columns: dict[int, list[Taken]] = {}

    def taken(self, row: int) -> Taken:
        """What a piece holds; with it all others of its shape are taken apart."""
        shape = self.shapes[row]
        column = self._columns.get(shape.number)
        if column is None:
            if not self._ready:
                self._group()
            column = self._columns[shape.number] = self._column(shape)
        return column[self._place[row]]

    def piece(self, row: int) -> bytes:
        """The bytes of a piece."""
        ends = self._block.ends
        return self._block.data[int(ends[row - 1]) + 1 if row else 0 : int(ends[row])]

    def forget(self, shape: Shape) -> None:
        """The shape's layout changed."""
        self._columns.pop(shape.number, None)

    def _group(self) -> None:
        """Which pieces are of which shape."""
        numbers = np.array([shape.number for shape in self.shapes], np.int64)
        self._order = np.argsort(numbers, kind="stable")
        ordered = numbers[self._order]
        first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        self._bounds = dict(
            zip(
                ordered[first].tolist(),
                zip(first.tolist(), [*first[1:].tolist(), len(ordered)], strict=True),
                strict=True,
            )
        )
        place = np.empty(len(numbers), np.int64)
        sizes = np.diff(np.concatenate((first, [len(ordered)])))
        place[self._order] = np.arange(len(numbers)) - np.repeat(first, sizes)
        self._place: list[int] = place.tolist()
        starts, _ = self._block.bounds(np.arange(len(numbers)))
        self._first = np.searchsorted(self._starts, starts)
        self._ready = True

    def _column(self, shape: Shape) -> list[Taken]:
        begin, end = self._bounds[shape.number]
        rows, layout = self._order[begin:end], shape.layout
        if layout is None:
            return []
        base, count = self._first[rows], end - begin
        fixed = [self._runs(base, run) for run in layout.fixed]
        keys = zip(*fixed, strict=True) if fixed else repeat((), count)
        ranks = repeat(None, count) if layout.rank is None else map(int, self._runs(base, layout.rank))
        texts: Iterable[str] = repeat("", count)
        if layout.text is not None:
            run, behind = layout.text
            starts, ends = self._block.bounds(rows)
            starts = starts if run < 0 else self._ends[base + run]
            texts = self._slices(starts + behind, ends)
        columns = zip(
            self._numbers(base, layout, count),
            keys,
            ranks,
            self._times(base, rows, layout),
            texts,
            strict=True,
        )
        return list(map(Taken._make, columns))

    def _times(self, base: Ints, rows: Ints, layout: Layout) -> Iterable[float]:
        """When the lines were written."""
        if layout.clock is None:
            return repeat(math.nan, len(rows))
        first, last = layout.clock
        clocks = self._slices(self._starts[base + first], self._ends[base + last])
        known = self._clocks.seconds
        seconds = (
            known[clock] if clock in known else self._clocks.read(clock, partial(self.piece, row))
            for clock, row in zip(clocks, rows.tolist(), strict=True)
        )
        if layout.fraction is None:
            return seconds
        return map(with_fraction, seconds, self._runs(base, layout.fraction))

    def _runs(self, base: Ints, run: int) -> list[str]:
        return self._slices(self._starts[base + run], self._ends[base + run])

    def _numbers(self, base: Ints, layout: Layout, count: int) -> list[list[str]]:
        """The numbers of each line, shape [lines, numbers]."""
        if not layout.numbers:
            found: list[list[str]] = [[] for _ in range(count)]
        else:
            spans = np.array(layout.numbers, np.int64)
            starts = self._starts[base[:, None] + spans[:, 0]] - spans[:, 2]
            ends = self._ends[base[:, None] + spans[:, 1]] + spans[:, 3]
            flat, width = self._slices(starts.ravel(), ends.ravel()), len(layout.numbers)
            found = [flat[at : at + width] for at in range(0, len(flat), width)]
        for place, text in layout.constants:
            for numbers in found:
                numbers.insert(place, text)
        return found

    def _slices(self, starts: Ints, ends: Ints) -> list[str]:
        text = self._text
        return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


class Shapes:
    """All outlines that are known; forgotten all at once when they become many (prose makes one a line)."""

    def __init__(self) -> None:
        self._known: dict[bytes, Shape] = {}
        self._count = 0

    def of(self, outlines: list[bytes]) -> tuple[list[Shape], dict[int, bytes]]:
        """The shape of each outline, and the new ones by their first row."""
        if len(self._known) > _MOST_SHAPES:
            self._known.clear()
        known = self._known
        shapes = [known.get(outline) for outline in outlines]
        new = {}
        for row in [row for row, shape in enumerate(shapes) if shape is None]:
            shape = known.get(outlines[row])
            if shape is None:
                shape = Shape(self._count)
                self._count += 1
                new[row] = outlines[row]
                if len(outlines[row]) <= LONGEST:
                    known[outlines[row]] = shape
            shapes[row] = shape
        return shapes, new  # type: ignore[return-value]
