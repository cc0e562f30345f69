"""Lines that differ in nothing but their digits: found at once in a block, and read again as the first was.

The outline of a line has a zero for each digit, and no more than three for a number. Logs repeat a few
outlines for ever. What a format learned from the first line of one, it reads from the numbers of the others
alone, and these are taken from the whole block by column. A line that needs a look of its own gets it.
"""

from __future__ import annotations

import math
import re
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from hrmdoc.readers.log.clocks import with_fraction
from hrmdoc.readers.log.formats.base import Again, Span
from hrmdoc.readers.log.scan import OUTLINE
from hrmdoc.text.clean import ANSI

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from hrmdoc.readers.log.clocks import Clocks
    from hrmdoc.readers.log.prefix import Message
    from hrmdoc.readers.log.stream import Block

_DIGITS = re.compile(rb"\d+")
_DIGITS_OF_TEXT = re.compile(r"[0-9]+")
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


class Layout(Struct, frozen=True):
    """Where a line of a shape holds what: places are numbers of its runs of digits.

    Attributes:
        numbers: first and last run of each number, and how far it reaches beyond them.
        constants: numbers without digits, such as a NaN, by their place among the numbers.
        fixed: runs that must be the same.
        rank: the run of the rank, if any.
        clock: first and last run of the time up to the seconds, if any.
        fraction: the run of their fraction, if any.
        text: the last run before the message and how far behind it that begins, -1 for the beginning of the
            line; None where the text is not needed.
    """

    numbers: tuple[tuple[int, int, int, int], ...]
    constants: tuple[tuple[int, str], ...]
    fixed: tuple[int, ...]
    rank: int | None
    clock: tuple[int, int] | None
    fraction: int | None
    text: tuple[int, int] | None


class Shape(Struct):
    """What is known of an outline.

    Attributes:
        kinds: what its lines may be about, see `scan`.
        exact: some digits change that, so that each line is looked at.
        nothing: its lines give nothing and change nothing.
    """

    number: int
    kinds: int = -1
    exact: bool = False
    nothing: bool = False
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


def layout_of(
    raw: bytes, cleaned: str, message: Message, again: Again
) -> tuple[Layout, tuple[str, ...]] | None:
    """Where a line holds what it was read from, and the text of its fixed runs; None where that cannot be
    said of other lines of its shape.

    Args:
        raw: the line as it stands in the log.
        cleaned: without escape codes.
        message: what was left when its prefix was peeled.
        again: where the numbers stand in it.
    """
    runs = [found.span() for found in _DIGITS_OF_TEXT.finditer(cleaned)]
    bare = ANSI.sub(lambda found: "\0" * len(found.group()), raw.decode("latin-1"))
    texts = [cleaned[start:end] for start, end in runs]
    if [found.group() for found in _DIGITS_OF_TEXT.finditer(bare)] != texts:
        return None
    hidden = _hidden(raw, bare)
    offset = len(cleaned) - len(message.rest)
    if hidden is None or cleaned[offset:] != message.rest:
        return None
    taken: set[int] = set()
    numbers, constants = [], []
    for place, span in enumerate(again.numbers):
        start, end = span[0] + offset, span[1] + offset
        inside = [at for at, run in enumerate(runs) if start <= run[0] and run[1] <= end]
        if not inside:
            constants.append((place, cleaned[start:end]))
            continue
        before, behind = start - runs[inside[0]][0], end - runs[inside[-1]][1]
        numbers.append((hidden[inside[0]], hidden[inside[-1]], -before, behind))
        taken.update(inside)
    free = [(start + offset, end + offset) for start, end in again.free]
    clock = _within(runs, message.clock)
    fraction, rank = _within(runs, message.fraction), _within(runs, message.ranked)
    fixed = [
        at
        for at, (start, end) in enumerate(runs)
        if at not in taken
        and (start >= offset or _inside((start, end), [message.zone]))
        and not _inside((start, end), free)
    ]
    if (message.clock is not None and clock is None) or (message.ranked is not None and rank is None):
        return None
    if clock is not None and hidden[clock[1]] - hidden[clock[0]] != clock[1] - clock[0]:
        return None
    if again.text and not (raw.isascii() and bare == cleaned):
        return None
    layout = Layout(
        tuple(numbers),
        tuple(constants),
        tuple(hidden[at] for at in fixed),
        None if rank is None else hidden[rank[0]],
        None if clock is None else (hidden[clock[0]], hidden[clock[1]]),
        None if fraction is None else hidden[fraction[0]],
        _beginning(runs, hidden, offset) if again.text else None,
    )
    return layout, tuple(texts[at] for at in fixed)


def _hidden(raw: bytes, bare: str) -> list[int] | None:
    """For each run of digits outside escape codes its place among all."""
    every = [found.start() for found in _DIGITS.finditer(raw)]
    shown = [found.start() for found in _DIGITS_OF_TEXT.finditer(bare)]
    places = {start: at for at, start in enumerate(every)}
    return [places[start] for start in shown] if all(start in places for start in shown) else None


def _beginning(runs: list[Span], hidden: list[int], offset: int) -> tuple[int, int]:
    """Where the message begins, seen from the last run of digits before it."""
    before = [at for at, run in enumerate(runs) if run[1] <= offset]
    return (hidden[before[-1]], offset - runs[before[-1]][1]) if before else (-1, offset)


def _within(runs: list[Span], span: Span | None) -> tuple[int, int] | None:
    """The first and the last run in a span."""
    inside = [] if span is None else [at for at, run in enumerate(runs) if _inside(run, [span])]
    return (inside[0], inside[-1]) if inside else None


def _inside(run: Span, spans: Iterable[Span | None]) -> bool:
    return any(span is not None and span[0] <= run[0] and run[1] <= span[1] for span in spans)
