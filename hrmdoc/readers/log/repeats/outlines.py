"""The shapes of the pieces of one block, and what those pieces hold that are read again as another of their
shape was: the numbers as texts, the rank and the time."""

from __future__ import annotations

import math
import re
from functools import partial
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.log.coverage import numbers_on
from hrmdoc.readers.log.lines.clocks import with_fraction
from hrmdoc.readers.log.lines.scan import OUTLINE, WANTED
from hrmdoc.readers.log.repeats.layout import Layout
from hrmdoc.readers.log.repeats.shapes import Shape, Shapes
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hrmdoc.readers.log.lines.clocks import Clocks
    from hrmdoc.readers.log.lines.scan import Scanner
    from hrmdoc.readers.log.lines.stream import Block

_FEW = 4
"""Lines of a shape that are as soon taken apart one by one."""

_RUN = patterns.lazy("[0-9]+")
_DRAWN = patterns.lazy(rb"%\|[ #\x80-\xe3\xea-\xff]+\|")
"""What tqdm draws; no word that is looked for can stand there, nor a digit."""

_OF_EPOCH = patterns.lazy(rb"^([\x08 ]{0,999}0{1,3}/0{1,3} \[)={0,99}>\.{1,99}\]", re.MULTILINE)
"""The same of Keras, in an outline."""

Ints = NDArray[np.int64]


class Taken(NamedTuple):
    """What one line of a shape holds."""

    numbers: list[str]
    key: tuple[str, ...]
    rank: int | None
    time: float
    text: str


class Outlines:
    """The shapes of the pieces of one block, and their columns.

    Attributes:
        number: the number of each piece's shape, shape [pieces].
        new: the first pieces of shapes that were not known.
        raw: the bytes of the block.
        starts, ends: where in them the runs of digits start and end, shape [runs].
    """

    def __init__(self, shapes: Shapes, block: Block, clocks: Clocks) -> None:
        self._clocks = clocks
        data = block.data
        raw = self.raw = np.frombuffer(data, np.uint8)
        room = shapes.room(len(raw))
        digit = np.less(np.subtract(raw, np.uint8(48), out=room[0]), 10, out=room[1].view(np.bool_))
        edges = np.flatnonzero(np.not_equal(digit[1:], digit[:-1], out=room[0].view(np.bool_)[1:]))
        edges += 1
        if len(digit) and digit[0]:
            edges = np.concatenate(([0], edges))
        self.starts, self.ends = edges[::2], edges[1::2]
        outline = _outline(data, digit, room)
        if b"%|" in outline:
            outline = _DRAWN.sub(b"%||", outline)
        if b">.]" in outline:
            outline = _OF_EPOCH.sub(rb"\1]", outline)
        self._shapes = shapes
        self.number, self.new = shapes.of(outline.split(b"\n")[: len(block.ends)])
        self._block = block
        self._text: str | None = None
        self._first: Ints | None = None
        self._asked: Ints = np.empty(0, np.int64)
        self._places: dict[int, tuple[int, int]] = {}
        self._columns: dict[int, dict[int, Taken]] = {}

    def shape(self, row: int) -> Shape:
        """The shape of a piece."""
        return self._shapes.every[int(self.number[row])]

    def numbered(self, number: int) -> Shape:
        """The shape of that number."""
        return self._shapes.every[number]

    def kinds(self, scanner: Scanner) -> NDArray[np.uint8]:
        """What each piece may hold: as the first one of its shape, and by the words with digits on it; shape
        [pieces]."""
        block = self._block
        if self.new:
            rows = np.array(self.new, np.int64)
            pieces = [block.data[start:end] + b"\n" for _, start, end, _ in block.of(rows)]
            kinds = scanner.lettered(b"".join(pieces), np.cumsum(list(map(len, pieces))) - 1)
            numbers = self.number[rows]
            self._shapes.kinds[numbers] = kinds
            self._shapes.decimals[numbers] = list(map(numbers_on, pieces))
        found = self._shapes.kinds[self.number]
        np.bitwise_or.at(found, *scanner.numbered(block.data, block.ends))
        found[scanner.asked(block.data, block.ends)] |= WANTED
        return found

    def decimals(self) -> Ints:
        """How many numbers each piece holds that may be measures, shape [pieces]."""
        return self._shapes.decimals[self.number]

    def speaks(self, kinds: NDArray[np.uint8], first: int, stop: int) -> NDArray[np.bool_]:
        """Which pieces of a stretch may give something, by what each may hold; shape [stop - first]."""
        own = kinds[first:stop]
        speaks: NDArray[np.bool_] = (own != 0) & (own != self._shapes.nothing[self.number[first:stop]])
        return speaks

    def ask(self, rows: Ints) -> None:
        """These pieces will be asked for one by one, and none that was named before."""
        if not len(rows):
            self._places = {}
            return
        number = self.number[rows]
        sort = np.argsort(number, kind="stable")
        ordered, self._asked = number[sort], rows[sort]
        edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))).tolist()
        self._places = dict(zip(ordered[edges[:-1]].tolist(), pairwise(edges), strict=True))
        for each in self._places:
            self._columns.pop(each, None)

    def taken(self, row: int, shape: Shape) -> Taken:
        """What a piece of a shape holds; with it all others of that shape which were asked for are taken
        apart."""
        number = shape.number
        column = self._columns.get(number)
        if column is None:
            begin, end = self._places.get(number, (0, 0))
            column = self._columns[number] = {}
            if end - begin >= _FEW:
                rows = self._asked[begin:end]
                column.update(zip(rows.tolist(), self._column(shape, rows), strict=True))
        found = column.get(row)
        if found is None:
            found = column[row] = self._single(shape, row)
        return found

    def _single(self, shape: Shape, row: int) -> Taken:
        """What one piece holds, as `_column` has it of many."""
        layout, piece = shape.layout, self.piece(row)
        assert layout is not None
        text = piece.decode("latin-1")
        runs = [run.span() for run in _RUN.finditer(text)]
        numbers = [
            text[runs[first][0] - before : runs[last][1] + behind]
            for first, last, before, behind in layout.numbers
        ]
        for place, constant in layout.constants:
            numbers.insert(place, constant)
        key = tuple([text[slice(*runs[run])] for run in layout.fixed])
        rank = None if layout.rank is None else int(text[slice(*runs[layout.rank])])
        time, words = math.nan, ""
        if layout.clock is not None:
            first, last = layout.clock
            clock = text[runs[first][0] : runs[last][1]]
            time = self._clocks.seconds.get(clock, math.nan)
            if clock not in self._clocks.seconds:
                time = self._clocks.read(clock, lambda: piece)
            if layout.fraction is not None:
                time = with_fraction(time, text[slice(*runs[layout.fraction])])
        if layout.text is not None:
            run, behind = layout.text
            words = text[(0 if run < 0 else runs[run][1]) + behind :]
        return Taken(numbers, key, rank, time, words)

    def piece(self, row: int) -> bytes:
        """The bytes of a piece."""
        ends = self._block.ends
        return self._block.data[int(ends[row - 1]) + 1 if row else 0 : int(ends[row])]

    def forget(self, shape: Shape) -> None:
        """The shape's layout changed."""
        self._columns.pop(shape.number, None)

    @property
    def first(self) -> Ints:
        """The number of the first run of digits of each piece, shape [pieces]."""
        if self._first is None:
            starts, _ = self._block.bounds(np.arange(len(self.number)))
            self._first = np.searchsorted(self.starts, starts)
        return self._first

    def _column(self, shape: Shape, rows: Ints) -> list[Taken]:
        layout = shape.layout
        if layout is None:
            return []
        base, count = self.first[rows], len(rows)
        ranks = repeat(None, count) if layout.rank is None else map(int, self._runs(base, layout.rank))
        columns = zip(
            self._numbers(base, layout, count),
            self.keys(base, layout),
            ranks,
            self._times(base, rows, layout),
            self.texts(base, rows, layout),
            strict=True,
        )
        return list(map(Taken._make, columns))

    def keys(self, base: Ints, layout: Layout) -> Iterable[tuple[str, ...]]:
        """The fixed runs of some pieces whose runs begin with these."""
        fixed = [self._runs(base, run) for run in layout.fixed]
        return zip(*fixed, strict=True) if fixed else repeat((), len(base))

    def texts(self, base: Ints, rows: Ints, layout: Layout) -> Iterable[str]:
        """Their texts, where they are needed."""
        if layout.text is None:
            return repeat("", len(rows))
        run, behind = layout.text
        starts, ends = self._block.bounds(rows)
        starts = starts if run < 0 else self.ends[base + run]
        return self._slices(starts + behind, ends)

    def _times(self, base: Ints, rows: Ints, layout: Layout) -> Iterable[float]:
        """When the lines were written."""
        if layout.clock is None:
            return repeat(math.nan, len(rows))
        first, last = layout.clock
        clocks = self._slices(self.starts[base + first], self.ends[base + last])
        known = self._clocks.seconds
        seconds = (
            known[clock] if clock in known else self._clocks.read(clock, partial(self.piece, row))
            for clock, row in zip(clocks, rows.tolist(), strict=True)
        )
        if layout.fraction is None:
            return seconds
        return map(with_fraction, seconds, self._runs(base, layout.fraction))

    def _runs(self, base: Ints, run: int) -> list[str]:
        return self._slices(self.starts[base + run], self.ends[base + run])

    def _numbers(self, base: Ints, layout: Layout, count: int) -> list[list[str]]:
        """The numbers of each line, shape [lines, numbers]."""
        if not layout.numbers:
            found: list[list[str]] = [[] for _ in range(count)]
        else:
            spans = np.array(layout.numbers, np.int64)
            starts = self.starts[base[:, None] + spans[:, 0]] - spans[:, 2]
            ends = self.ends[base[:, None] + spans[:, 1]] + spans[:, 3]
            flat, width = self._slices(starts.ravel(), ends.ravel()), len(layout.numbers)
            found = [flat[at : at + width] for at in range(0, len(flat), width)]
        for place, text in layout.constants:
            for numbers in found:
                numbers.insert(place, text)
        return found

    def _slices(self, starts: Ints, ends: Ints) -> list[str]:
        if self._text is None:
            self._text = self._block.data.decode("latin-1")
        text = self._text
        return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _outline(data: bytes, digit: NDArray[np.bool_], room: NDArray[np.uint8]) -> bytes:
    """The outlines of all pieces of a block, in which `digit` says what is one."""
    kept = room[0].view(np.bool_)
    kept[:3] = False
    np.logical_and(digit[3:], digit[2:-1], out=kept[3:])
    kept[3:] &= digit[1:-2]
    kept[3:] &= digit[:-3]
    np.logical_not(kept, out=kept)
    zeros = np.frombuffer(data.translate(OUTLINE), np.uint8)
    if b"\0" in data:
        shown: bytes = zeros[kept].tobytes()
    else:
        shown = np.multiply(zeros, kept, out=room[1]).tobytes().replace(b"\0", b"")
    return shown
