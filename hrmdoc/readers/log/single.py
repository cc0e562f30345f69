"""Lines of a log read one by one: as another of their shape was, or with a look of its own, from which is
learned how its like are read."""

from __future__ import annotations

from hrmdoc.readers.log.dispatch import Dispatcher
from hrmdoc.readers.log.formats.base import Silent
from hrmdoc.readers.log.lines import scan
from hrmdoc.readers.log.lines.message import Message
from hrmdoc.readers.log.lines.prefix import Peeler
from hrmdoc.readers.log.lines.stream import cleaned
from hrmdoc.readers.log.repeats.lanes import Lanes
from hrmdoc.readers.log.repeats.learning import Learner
from hrmdoc.readers.log.repeats.outlines import Outlines
from hrmdoc.readers.log.repeats.rows import SUB
from hrmdoc.readers.log.repeats.shapes import Shape, Shapes
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.sink import Mark

_MOST_RANKS = 65536
SEEN_EACH = scan.TROUBLE | scan.WANTED
"""Lines that may show what broke get a look each."""


class OneByOne:
    """Reads the lines of one log, each in its turn.

    Args:
        rank: whose lines those are that name no rank.

    Attributes:
        cursors: where the ranks are.
        open: something that goes over several lines has not ended.
        lanes: the lines of the stretch at hand that wait to be read by column.
        above: how many pieces stand before the block at hand.
    """

    def __init__(self, log: Log, peeler: Peeler, shapes: Shapes, rank: int | None) -> None:
        self._log, self._peeler, self._default = log, peeler, rank
        self._dispatcher = Dispatcher(log, peeler)
        self._learner = Learner(shapes, self._dispatcher, log.facts)
        self.cursors: dict[int | None, Cursor] = {}
        self.open = False
        self.lanes: Lanes | None = None
        self.above = self._row = 0
        self._rank = rank
        log.sink.asked = self._asked

    def close(self) -> None:
        """No more lines come."""
        self._log.sink.at = SUB * self.above
        for cursor in self.cursors.values():
            self._dispatcher.close(cursor)
        self._dispatcher.finish()
        flows = [cursor.flow for cursor in self.cursors.values() if cursor.flow.begun is not None]
        if flows:
            furthest = max(flows, key=lambda flow: flow.begun or 0)
            self._log.facts.reached(furthest.begun or 0, midway=furthest.open)

    def is_steady(self) -> bool:
        """Whether nothing is open, or nothing but what leaves lines of known shapes to be read as ever."""
        return not self.open or (len(self.cursors) == 1 and all(one.steady for one in self.cursors.values()))

    def inside(self) -> State | None:
        """What the next line without a prefix goes on with, where that is one thing alone."""
        cursor = self.cursors.get(self._rank)
        return None if cursor is None else cursor.inside

    def again(self, outlines: Outlines, shape: Shape, row: int, line: int, kinds: int) -> bool:
        """Whether a piece could be read as another of its shape was."""
        if not shape.recipes or kinds & SEEN_EACH:
            return False
        if shape.passed and self._passes(shape):
            return True
        numbers, key, rank, time, text = outlines.taken(row, shape)
        recipe = shape.recipe(key, time)
        cursor = self.cursors.get(self._default if rank is None else rank)
        if recipe is None or cursor is None or cursor.mode != recipe.mode:
            return False
        many = recipe.again.many
        if self.open and (many is None or not many.TAKEN):
            return False
        shape.used += 1
        if isinstance(many, Silent):
            return True
        self._come(row, cursor.rank)
        message = Line(text, Mark(line, time + recipe.shift, cursor.rank))
        reading = recipe.again.read(cursor, numbers, message)
        if reading is not None:
            reading.give(self._log.sink)
        return True

    def _passes(self, shape: Shape) -> bool:
        """The same where all of the shape are passed over, whatever their numbers are."""
        cursor = self.cursors.get(self._default)
        if self.open or cursor is None or cursor.mode != shape.recipes[()].mode:
            return False
        shape.used += 1
        return True

    def _come(self, row: int, rank: int | None) -> None:
        """What stands before a line of the same rank and still waits is read first."""
        if self.lanes is not None:
            self.lanes.catch_up(row, rank)
        self._row = row
        self._log.sink.at = SUB * (self.above + row)

    def _asked(self) -> None:
        """The line is about to change what all ranks share, or asks for it: all that waits is read first."""
        if self.lanes is not None:
            row = self._row
            self.lanes.catch_up(row, every=True)
            self._row, self._log.sink.at = row, SUB * (self.above + row)

    def line(self, raw: bytes, at: int, kinds: int, row: int, shape: Shape | None = None) -> None:
        """Reads a line; learns what others of its shape are."""
        if not raw or raw.isspace():
            return
        text, was_open = cleaned(raw), self.open
        steady = shape is not None and self.is_steady()
        message = self._peeler.peel(text)
        cursor = self._cursor(self._rank_of(message), at)
        self._come(row, cursor.rank)
        self._rank = cursor.rank
        mark = Mark(at, message.time, cursor.rank)
        before = (self._log.facts.stated, cursor.mode if steady else ())
        self._see(message, kinds, mark)
        line = Line(message.rest, mark, kinds, message.logger, text, bool(kinds & scan.WANTED))
        outcome = self._dispatcher.read(line, cursor)
        self.open = cursor.open or (was_open and any(other.open for other in self.cursors.values()))
        if shape is None or not steady or kinds & SEEN_EACH or not self.is_steady():
            return
        inside = was_open or self.open
        self._learner.note(shape, raw, message, line, cursor, outcome, before, inside=inside)

    def _rank_of(self, message: Message) -> int | None:
        """Whose line it is: in the middle of a traceback, one without a prefix is of the rank before it."""
        if message.rank is not None:
            return message.rank
        before = self.cursors.get(self._rank) if message.rest is message.whole else None
        return self._rank if self.open and before is not None and before.open else self._default

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
        cursor = self.cursors.get(rank)
        if cursor is None:
            if len(self.cursors) >= _MOST_RANKS:
                self._log.leave_out("names of too many ranks", Mark(at))
                rank = self._default
            cursor = self.cursors.setdefault(rank, Cursor(self._log, rank=rank))
        return cursor
