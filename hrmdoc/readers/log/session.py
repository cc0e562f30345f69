"""One text log being read: its lines are chosen, cleaned, peeled, and shown to the readers of their kinds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hrmdoc.readers.log.coverage import Coverage
from hrmdoc.readers.log.dispatch import Dispatcher
from hrmdoc.readers.log.formats.base import Silent
from hrmdoc.readers.log.lines import scan
from hrmdoc.readers.log.lines.clocks import Clocks
from hrmdoc.readers.log.lines.launches import Launches
from hrmdoc.readers.log.lines.message import Message
from hrmdoc.readers.log.lines.prefix import Peeler
from hrmdoc.readers.log.lines.stream import PIECE_LIMIT, Block, Splitter, cleaned
from hrmdoc.readers.log.repeats.lanes import Lanes
from hrmdoc.readers.log.repeats.learning import Learner
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.readers.log.repeats.rows import SUB
from hrmdoc.readers.log.repeats.shapes import Shape, Shapes
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.sink import Mark, Sink
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Record

_MOST_RANKS = 65536
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
_PART = 16
"""Of so many pieces not one may need a look of its own for that."""
_OF_BLOCKS = scan.METRIC | scan.FACT | scan.CONFIG
"""What a line may be about that goes on with something open: what takes it leaves no facts for others."""
_SEEN_EACH = scan.TROUBLE | scan.WANTED
"""Lines that may show what broke get a look each."""


class TextSession:
    """Reads one log; see `hrmdoc.readers.text`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log = Log(Sink(context.path, context.source or context.path), context.settings)
        self._splitter = Splitter()
        self._scanner = scan.Scanner(context.wanted)
        self._peeler = Peeler(context.mtime)
        self._launches = Launches()
        self._dispatcher = Dispatcher(self._log, self._peeler)
        self._cursors: dict[int | None, Cursor] = {}
        self._shapes = Shapes()
        self._learner = Learner(self._shapes, self._dispatcher, self._log.facts)
        self._apart = self._rich = 0
        self._wait = 1
        self._clocks = Clocks(lambda raw: self._peeler.peel(cleaned(raw)).second)
        self._coverage = Coverage()
        self._lanes: Lanes | None = None
        self._reach = _LONGEST
        self._above = self._row = 0
        self._log.sink.asked = self._asked
        self._open = False
        self._rank: int | None = context.rank

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
        self._log.sink.at = SUB * self._above
        for cursor in self._cursors.values():
            self._dispatcher.close(cursor)
        self._dispatcher.finish()
        flows = [cursor.flow for cursor in self._cursors.values() if cursor.flow.begun is not None]
        if flows:
            furthest = max(flows, key=lambda flow: flow.begun or 0)
            self._log.facts.reached(furthest.begun or 0, midway=furthest.open)
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
            at = SUB * (self._above + block.row_of(line)) - 1
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
        self._above += len(block.ends)

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
            if self._open:
                self._follow(block, kinds, following, row)
            following = row + 1
            self._line(block.data[start:end], line, int(kinds[row]), row)
        if self._open:
            self._follow(block, kinds, following, len(kinds))

    def _follow(
        self, block: Block, kinds: NDArray[np.uint8], first: int, stop: int, outlines: Outlines | None = None
    ) -> int:
        """Reads pieces one by one, whatever they hold, as long as something open asks for them, by their
        shapes where it leaves those; gives the first that it leaves."""
        reach, inside, steady = _SHORTEST, self._inside(), self._is_steady()
        while first < stop:
            come_to = min(stop, first + reach)
            rows = np.arange(first, come_to)
            if steady and outlines is not None:
                outlines.ask(rows)
            for row, start, end, line in block.of(rows):
                if not self._open:
                    return row
                raw, kind = block.data[start:end], int(kinds[row])
                if inside is not None and not kind & ~_OF_BLOCKS and inside.take(cleaned(raw)):
                    continue
                if outlines is None:
                    self._line(raw, line, kind, row)
                    inside = self._inside()
                    continue
                shape = outlines.shape(row)
                if not (steady and self._again(outlines, shape, row, line, kind)):
                    layout = shape.layout
                    self._line(raw, line, kind, row, shape)
                    if layout is not shape.layout:
                        outlines.forget(shape)
                    inside, steady = self._inside(), self._is_steady()
            first, reach = come_to, 2 * reach
        return stop

    def _is_steady(self) -> bool:
        """Whether nothing is open, or nothing but what leaves lines of known shapes to be read as ever."""
        return not self._open or (
            len(self._cursors) == 1 and all(one.steady for one in self._cursors.values())
        )

    def _inside(self) -> State | None:
        """What the next line without a prefix goes on with, where that is one thing alone."""
        cursor = self._cursors.get(self._rank)
        return None if cursor is None else cursor.inside

    def _alike(self, block: Block) -> None:
        """Reads pieces by their shapes; where shapes hardly repeat, or how they are read keeps changing, not
        so the next blocks, the longer the more often."""
        outlines = Outlines(self._shapes, block, self._clocks)
        kinds = outlines.kinds(self._scanner)
        self._coverage.see(block, outlines.decimals())

        def alone(rows: NDArray[np.int64]) -> None:
            outlines.ask(rows)
            known = zip(outlines.number[rows].tolist(), kinds[rows].tolist(), strict=True)
            for (row, start, end, line), (number, kind) in zip(block.of(rows), known, strict=True):
                shape = outlines.numbered(number)
                if not self._again(outlines, shape, row, line, kind):
                    self._line(block.data[start:end], line, kind, row, shape)

        rank = self._context.rank
        self._lanes = Lanes(block, outlines, self._above, self._cursors, rank, self._clocks, alone)
        row, count, stretches = 0, len(kinds), 0
        while row < count:
            if self._open:
                row = self._follow(block, kinds, row, count, outlines)
                continue
            come_to = self._stretch(block, outlines, kinds, row, min(count, row + self._reach))
            self._reach = min(max(2 * (come_to - row), _SHORTEST), _LONGEST)
            row, stretches = come_to, stretches + 1
        self._lanes = None
        unlike = 2 * len(outlines.new) > count or 8 * stretches > count
        self._wait = min(2 * self._wait, _APART) if unlike else 1
        self._apart = max(0, self._wait - 2)  # one such block, as a model that is printed, tells little

    def _stretch(
        self, block: Block, outlines: Outlines, kinds: NDArray[np.uint8], first: int, stop: int
    ) -> int:
        """Reads a stretch of pieces; gives the first that it leaves, since how lines are read has changed."""
        assert self._lanes is not None
        lanes, facts = self._lanes, self._log.facts
        rows = first + np.flatnonzero(outlines.speaks(kinds, first, stop))
        rows = self._fill(lanes, rows, kinds[rows] & _SEEN_EACH != 0)
        outlines.ask(rows)
        known = zip(outlines.number[rows].tolist(), kinds[rows].tolist(), strict=True)
        for (row, start, end, line), (number, kind) in zip(block.of(rows), known, strict=True):
            shape, stated = outlines.numbered(number), facts.changed
            if kind == shape.nothing:
                continue
            layout = shape.layout
            if not self._again(outlines, shape, row, line, kind):
                self._line(block.data[start:end], line, kind, row, shape)
            if layout is not shape.layout:
                outlines.forget(shape)
                worth = int(np.count_nonzero(outlines.number[row + 1 : stop] == shape.number)) >= _WORTH
            else:
                worth = False
            if not worth and not self._open and facts.changed == stated and not lanes.moved():
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

    def _again(self, outlines: Outlines, shape: Shape, row: int, line: int, kinds: int) -> bool:
        """Whether a piece could be read as another of its shape was."""
        if not shape.recipes or kinds & _SEEN_EACH:
            return False
        if shape.passed and self._passes(shape):
            return True
        numbers, key, rank, time, text = outlines.taken(row, shape)
        recipe = shape.recipes.get(key)
        cursor = self._cursors.get(self._context.rank if rank is None else rank)
        if recipe is None or cursor is None or cursor.mode != recipe.mode:
            return False
        many = recipe.again.many
        if self._open and (many is None or not many.TAKEN):
            return False
        shape.used += 1
        if isinstance(many, Silent):
            return True
        self._come(row, cursor.rank)
        message = Line(text, Mark(line, time, cursor.rank))
        reading = recipe.again.read(cursor, numbers, message)
        if reading is not None:
            reading.give(self._log.sink)
        return True

    def _passes(self, shape: Shape) -> bool:
        """The same where all of the shape are passed over, whatever their numbers are."""
        cursor = self._cursors.get(self._context.rank)
        if self._open or cursor is None or cursor.mode != shape.recipes[()].mode:
            return False
        shape.used += 1
        return True

    def _come(self, row: int, rank: int | None) -> None:
        """What stands before a line of the same rank and still waits is read first."""
        if self._lanes is not None:
            self._lanes.catch_up(row, rank)
        self._row = row
        self._log.sink.at = SUB * (self._above + row)

    def _asked(self) -> None:
        """The line is about to change what all ranks share, or asks for it: all that waits is read first."""
        if self._lanes is not None:
            row = self._row
            self._lanes.catch_up(row, every=True)
            self._row, self._log.sink.at = row, SUB * (self._above + row)

    def _line(self, raw: bytes, at: int, kinds: int, row: int, shape: Shape | None = None) -> None:
        """Reads a line; learns what others of its shape are."""
        if not raw or raw.isspace():
            return
        text, was_open = cleaned(raw), self._open
        steady = shape is not None and self._is_steady()
        message = self._peeler.peel(text)
        cursor = self._cursor(self._rank_of(message), at)
        self._come(row, cursor.rank)
        self._rank = cursor.rank
        mark = Mark(at, message.time, cursor.rank)
        before = (self._log.facts.stated, cursor.mode if steady else ())
        self._see(message, kinds, mark)
        line = Line(message.rest, mark, kinds, message.logger, text, bool(kinds & scan.WANTED))
        outcome = self._dispatcher.read(line, cursor)
        self._open = cursor.open or (was_open and any(other.open for other in self._cursors.values()))
        if shape is None or not steady or kinds & _SEEN_EACH or not self._is_steady():
            return
        inside = was_open or self._open
        self._learner.note(shape, raw, message, line, cursor, outcome, before, inside=inside)

    def _rank_of(self, message: Message) -> int | None:
        """Whose line it is: in the middle of a traceback, one without a prefix is of the rank before it."""
        if message.rank is not None:
            return message.rank
        before = self._cursors.get(self._rank) if message.rest is message.whole else None
        return self._rank if self._open and before is not None and before.open else self._context.rank

    def _see(self, message: Message, kinds: int, mark: Mark) -> None:
        """What the prefix states, and which framework has such lines."""
        facts = self._log.facts
        if message.world_size:
            facts.add("world_size", message.world_size, "run", mark)
            facts.see_framework("[rank 0, world size", mark)
        if kinds & scan.FRAMEWORK:
            facts.see_framework(message.whole, mark)

    def _cursor(self, rank: int | None, at: int) -> Cursor:
        """Where a rank's lines have come to."""
        cursor = self._cursors.get(rank)
        if cursor is None:
            if len(self._cursors) >= _MOST_RANKS:
                self._log.leave_out("names of too many ranks", Mark(at))
                rank = self._context.rank
            cursor = self._cursors.setdefault(rank, Cursor(self._log, rank=rank))
        return cursor


def _is_little(kinds: NDArray[np.uint8]) -> bool:
    """Whether few of some pieces are of interest."""
    return 16 * int(np.count_nonzero(kinds)) < len(kinds)
