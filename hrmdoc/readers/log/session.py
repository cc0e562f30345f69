"""One text log being read: which of its lines, and whether by column, by their shapes or one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.log.coverage import Coverage
from hrmdoc.readers.log.launches import Launches
from hrmdoc.readers.log.lines import scan
from hrmdoc.readers.log.lines.clocks import Clocks
from hrmdoc.readers.log.lines.prefix import Peeler
from hrmdoc.readers.log.lines.stream import PIECE_LIMIT, Block, Splitter, cleaned
from hrmdoc.readers.log.repeats.lanes import Lanes
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.readers.log.repeats.rows import SUB
from hrmdoc.readers.log.repeats.shapes import Shapes
from hrmdoc.readers.log.single import SEEN_EACH, OneByOne
from hrmdoc.readers.log.state.cursor import Log
from hrmdoc.readers.log.state.sink import Sink
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Record

_FEW = 16
"""Pieces of a block that are read one by one."""
_APART = 16
"""So many blocks at most are read piece by piece before their shapes are looked at again."""
_BEGINNING = 1 << 16
"""Bytes by which a block is judged."""
_SHORTEST, _LONGEST = 64, 1 << 20
"""Pieces of a stretch that is read by column."""
_WORTH = 16
"""Lines of a shape that was just learned, further on in the stretch, for which the others are brought into
lanes anew."""
_PART = 8
"""Of so many pieces not one may need a look of its own for that."""
_OF_BLOCKS = scan.METRIC | scan.FACT | scan.CONFIG
"""What a line may be about that goes on with something open: what takes it leaves no facts for others."""


class TextSession:
    """Reads one log; see `hrmdoc.readers.text`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log = Log(Sink(context.path, context.source or context.path), context.settings)
        self._splitter = Splitter()
        self._scanner = scan.Scanner(context.wanted)
        peeler = Peeler(context.mtime)
        self._launches = Launches()
        self._shapes = Shapes()
        self._apart = self._rich = 0
        self._wait = 1
        self._clocks = Clocks(lambda raw: peeler.peel(cleaned(raw)).clock_read)
        self._coverage = Coverage()
        self._reach = _LONGEST
        self._lines = OneByOne(self._log, peeler, self._shapes, context.rank)

    @property
    def lines(self) -> int:
        """How many lines have ended so far."""
        return self._splitter.line - 1

    def feed(self, data: bytes) -> Iterator[Record]:
        """Records that the new bytes complete."""
        for block in self._splitter.feed(data):
            self._read(block)
            yield from self._log.sink.drain()

    def close(self) -> Iterator[Record]:
        """The torn last line, and what waited for lines that do not come any more."""
        for block in self._splitter.close():
            self._read(block)
        self._lines.close()
        sink = self._log.sink
        if self._splitter.overlong is not None:
            many = "a line is" if self._splitter.shortened == 1 else f"{self._splitter.shortened:,} lines are"
            what = f"{many} longer than {PIECE_LIMIT // 1024} KiB; only the beginning was read"
            shortened = self._splitter.shortened
            sink.record(Damage(self._context.path, self._splitter.overlong, what, shortened))
        damages = list(self._log.left_out.report(self._context.path))
        for damage in damages:
            sink.record(damage)
        known = damages or self._splitter.overlong is not None
        if not known and (what := self._coverage.shortfall(sink.count)):
            sink.record(Damage(self._context.path, None, what))
        yield from sink.drain()

    def _read(self, block: Block) -> None:
        for line in self._launches.lines(block):
            at = SUB * (self._lines.above + block.row_of(line)) - 1
            self._log.sink.record(Event("launch", self._context.path, line), at)
        if self._apart > 0 or len(block.ends) < _FEW:
            self._apart -= 1
            self._each(block, self._scanner.kinds(block.data, block.ends))
        elif not self._holds_little(block):
            self._alike(block)
        else:
            kinds = self._scanner.kinds(block.data, block.ends)
            if _is_little(kinds):
                self._apart -= 1
                self._each(block, kinds)
            else:
                self._alike(block)
        self._lines.above += len(block.ends)

    def _holds_little(self, block: Block) -> bool:
        """Whether little in a large block is of interest, by its beginning; where much was, that of the next
        blocks is not looked at."""
        self._rich -= 1
        if self._rich > 0:
            return False
        ends = block.ends[: int(np.searchsorted(block.ends, _BEGINNING))]
        if len(block.data) < 4 * _BEGINNING or not len(ends):
            return False
        kinds = self._scanner.kinds(block.data[: int(ends[-1]) + 1], ends)
        little = _is_little(kinds)
        self._rich = 0 if little else _APART
        return little

    def _each(self, block: Block, kinds: NDArray[np.uint8]) -> None:
        """Reads the pieces that may hold anything, one by one."""
        self._coverage.see(block)
        kinds[self._scanner.asked(block.data, block.ends)] |= scan.WANTED
        following = 0
        for row, start, end, line in block.of(np.flatnonzero(kinds)):
            if self._lines.open:
                self._follow(block, kinds, following, row)
            following = row + 1
            self._lines.line(block.data[start:end], line, int(kinds[row]), row)
        if self._lines.open:
            self._follow(block, kinds, following, len(kinds))

    def _follow(
        self, block: Block, kinds: NDArray[np.uint8], first: int, stop: int, outlines: Outlines | None = None
    ) -> int:
        """Reads pieces one by one, whatever they hold, as long as something open asks for them, by their
        shapes where it leaves those; gives the first that it leaves."""
        lines = self._lines
        reach, inside, steady = _SHORTEST, lines.inside(), lines.is_steady()
        while first < stop:
            come_to = min(stop, first + reach)
            rows = np.arange(first, come_to)
            if steady and outlines is not None:
                outlines.ask(rows)
            for row, start, end, line in block.of(rows):
                if not lines.open:
                    return row
                raw, kind = block.data[start:end], int(kinds[row])
                if inside is not None and not kind & ~_OF_BLOCKS and inside.take(cleaned(raw)):
                    continue
                if outlines is None:
                    lines.line(raw, line, kind, row)
                    inside = lines.inside()
                    continue
                shape = outlines.shape(row)
                if not (steady and lines.again(outlines, shape, row, line, kind)):
                    layout = shape.layout
                    lines.line(raw, line, kind, row, shape)
                    if layout is not shape.layout:
                        outlines.forget(shape)
                    inside, steady = lines.inside(), lines.is_steady()
            first, reach = come_to, 2 * reach
        return stop

    def _alike(self, block: Block) -> None:
        """Reads pieces by their shapes; where shapes hardly repeat, or how they are read keeps changing, not
        so the next blocks, the longer the more often."""
        lines, outlines = self._lines, Outlines(self._shapes, block, self._clocks)
        kinds = outlines.kinds(self._scanner)
        self._coverage.see(block, outlines.decimals())

        def alone(rows: NDArray[np.int64]) -> None:
            outlines.ask(rows)
            known = zip(outlines.number[rows].tolist(), kinds[rows].tolist(), strict=True)
            for (row, start, end, line), (number, kind) in zip(block.of(rows), known, strict=True):
                shape = outlines.numbered(number)
                if not lines.again(outlines, shape, row, line, kind):
                    lines.line(block.data[start:end], line, kind, row, shape)

        rank = self._context.rank
        lines.lanes = Lanes(block, outlines, lines.above, lines.cursors, rank, self._clocks, alone)
        row, count, stretches = 0, len(kinds), 0
        while row < count:
            if lines.open:
                row = self._follow(block, kinds, row, count, outlines)
                continue
            come_to = self._stretch(block, outlines, kinds, row, min(count, row + self._reach))
            self._reach = min(max(2 * (come_to - row), _SHORTEST), _LONGEST)
            row, stretches = come_to, stretches + 1
        lines.lanes = None
        unlike = 2 * len(outlines.new) > count or 8 * stretches > count
        self._wait = min(2 * self._wait, _APART) if unlike else 1
        self._apart = max(0, self._wait - 2)  # one such block, as a model that is printed, tells little

    def _stretch(
        self, block: Block, outlines: Outlines, kinds: NDArray[np.uint8], first: int, stop: int
    ) -> int:
        """Reads a stretch of pieces; gives the first that it leaves, since how lines are read has changed."""
        lines, facts = self._lines, self._log.facts
        lanes = lines.lanes
        assert lanes is not None
        rows = first + np.flatnonzero(outlines.speaks(kinds, first, stop))
        rows = self._fill(lanes, rows, kinds[rows] & SEEN_EACH != 0)
        outlines.ask(rows)
        known = zip(outlines.number[rows].tolist(), kinds[rows].tolist(), strict=True)
        for (row, start, end, line), (number, kind) in zip(block.of(rows), known, strict=True):
            shape, stated = outlines.numbered(number), facts.changed
            if kind == shape.nothing:
                continue
            layout = shape.layout
            if not lines.again(outlines, shape, row, line, kind):
                lines.line(block.data[start:end], line, kind, row, shape)
            if layout is not shape.layout:
                outlines.forget(shape)
                worth = int(np.count_nonzero(outlines.number[row + 1 : stop] == shape.number)) >= _WORTH
            else:
                worth = False
            if not worth and not lines.open and facts.changed == stated and not lanes.moved():
                continue
            lanes.finish(row + 1)
            return row + 1
        lanes.finish(stop)
        return stop

    @staticmethod
    def _fill(lanes: Lanes, rows: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Brings lines into lanes where most of them can be read by column; gives those that are read one by
        one."""
        alone, others = rows, rows[~seen]
        if len(rows) > _SHORTEST and _PART * (np.count_nonzero(seen) + lanes.unfit(others)) < len(rows):
            alone = np.sort(np.concatenate((rows[seen], lanes.fill(others))))
        if _PART * len(alone) < len(rows):
            return alone
        lanes.clear()
        return rows


def _is_little(kinds: NDArray[np.uint8]) -> bool:
    """Whether few of some pieces are of interest."""
    return 16 * int(np.count_nonzero(kinds)) < len(kinds)
