"""Metric lines of all programs that have no format of their own: counters and named numbers, in whatever
order and with whatever marks between them (`step 5 | loss 2.1 | lr 1e-3`, `Epoch: [3][10/50] Loss: 0.4`)."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

from msgspec.structs import replace

from hrmdoc.readers.log.formats.base import Again, Format, Many, Reading, Values
from hrmdoc.readers.log.formats.keras_bar import KerasBar
from hrmdoc.readers.log.grammar.headings import heading_in, may_head, split_before, stage_in
from hrmdoc.readers.log.grammar.numbers import spans_of, split_numbers
from hrmdoc.readers.log.grammar.places import places_of
from hrmdoc.readers.log.grammar.plainer import plainer
from hrmdoc.readers.log.grammar.plan import Plan, of_stage
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.grammar.rounded import written_out
from hrmdoc.readers.log.grammar.settings import only_sets
from hrmdoc.readers.log.grammar.template import MOST_NUMBERS
from hrmdoc.readers.log.grammar.tracker import planned_in
from hrmdoc.readers.log.grammar.values import alarming, position_of, totals_of, values_of
from hrmdoc.readers.log.grammar.words import EVALUATIONS, plain
from hrmdoc.readers.log.lines.stream import PIECE_LIMIT
from hrmdoc.readers.log.state.candidates import Candidate, Candidates, before_all, here, needed
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.epoch_lines import EpochLines
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.readers.tables.decimals import PlainText
from hrmdoc.text import patterns

_NO_LINE = patterns.lazy(r"\A\++ |['\"]: ?\[[-+.\w]{1,30},\s{0,4}\Z")
"""What a shell says that it does (`set -x`), `++ return 0`; and `{'loss': [0.5,` of a history that is printed
over many lines, whose first value alone is no step's."""
_BLOCK = 200
"""Lines of an indented block at most."""
_BLOCK_COST = 20
"""A line that is none of the block's counts as so many of it."""
Shape = tuple[str, ...]


class Below(State):
    """What lines before say of the next ones.

    Attributes:
        left: lines that may still belong to an indented block after a header.
        heading: the split that a heading named for the lines below it.
        stage: `discriminator` where a heading says that it is trained from here on, and another one that its
            generator was: what it learns is no loss of the model.
    """

    MODAL: ClassVar[bool] = True
    STEADY: ClassVar[bool] = True

    left: int = 0
    heading: str = ""
    stage: str = ""
    turns: bool = False

    def take_turns(self, net: str) -> None:
        """A heading names the net that is trained: `train generator` alone may be one of batches."""
        self.turns |= net == "generator"
        self.stage = net if self.turns and net == "discriminator" else ""

    @property
    def open(self) -> bool:
        """Whether a block is open."""
        return self.left > 0

    @property
    def mode(self) -> str:
        """Whose measures the lines show."""
        return f"{self.heading}/{self.stage}" if self.stage else self.heading


class Measured(Many, frozen=True):
    """Lines of one plan; `alarming`: a word among their numbers is believed at once."""

    plan: Plan
    alarming: bool = False


class KeyValue(Format):
    """Reads lines by their templates; asked when no other format takes a line."""

    ORDER: ClassVar[int] = 80

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._decimals = PlainText()
        self._candidates = Candidates(log)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A position, or measures at one, or some that wait for their like."""
        if _NO_LINE.search(line.text):
            return None
        if planned := planned_in(line.text):
            self.log.facts.totals(planned, line.mark)
            return Reading()
        text, lines = self._written(line, cursor), cursor.of(Below)
        known = self._known(line, text, lines)
        if known is None:
            self._head(lines, text or line.whole)
            self._too_many(text, line)
            return None
        plan, numbers = known
        if only_sets(plan, self.log.settings):
            return None  # `Batch size = 15`, which evaluations print again and again
        if lines.heading and not position_of(plan, numbers).silent:
            lines.heading = ""
            found = self.parse(line, cursor)
            return None if found is None else replace(found, again=None)  # the heading is gone
        if any(counter.kind == "episode" for counter in plan.counters):
            self.log.facts.add("run.counts", "episodes", "run", line.mark)
        reading = self._read(plan, cursor, numbers, line)
        if reading is not None and plan.measures and not plan.numbered and text is line.text:
            reading.again = self._again(plan, text, numbers)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One of no measure, or of some that are no measures of a training and stand at no position."""
        text = line.text
        if self._decimals.wanted or line.logger == "metric" or may_head(text or line.whole):
            return False
        if stage_in(text) is not None:
            return False
        known = self._known(line, text, cursor.of(Below))
        if known is None:
            return len(split_numbers(text)) == 1
        plan, numbers = known
        if plan.bare or plan.numbered or plainer(text) != text or spans_of(text, numbers) is None:
            return False
        return not plan.measures or not plan.leading or not (plan.strong or plan.counters)

    def _known(self, line: Line, text: str, lines: Below) -> tuple[Plan, list[str]] | None:
        """The plan of a line and its numbers, below the headings that stand."""
        known = self.log.plans.read(text, split_before(line.logger, text) or lines.heading)
        return (of_stage(known[0], lines.stage), known[1]) if known and lines.stage else known

    def _again(self, plan: Plan, text: str, numbers: list[str]) -> Again | None:
        """How lines of other numbers are read."""
        found = places_of(text, numbers, free=plan.free)
        if found is None:
            return None
        spans, free = found
        values = values_of(plan, numbers)
        words = not all(math.isfinite(value) for _, value in values)
        many = Measured(plan, words and alarming(values, text))
        return Again(partial(self._read, plan), spans, free, words, many)

    def often(self, rank: int | None, plan: Plan) -> bool:
        """Whether lines of a plan have come often enough to be believed."""
        return self._candidates.often((rank, plan.shape))

    def _too_many(self, text: str, line: Line) -> None:
        """Says where a line holds more numbers than are read; of one that was cut, the cut is said."""
        shortest = 2 * MOST_NUMBERS
        if shortest < len(text) and len(line.whole) < PIECE_LIMIT and len(split_numbers(text)) > shortest:
            self.log.leave_out(f"lines of more than {MOST_NUMBERS:,} numbers", line.mark, data=True)

    def _written(self, line: Line, cursor: Cursor) -> str:
        """The line with points before its decimals, its counter by the name of what it counts, and its step
        in full."""
        text = self._decimals.read(line.text) if self._decimals.wanted else line.text
        if line.logger == "metric" and text.startswith("[batch="):
            cursor.filed = True  # Composer's files count the batches of the whole run
            text = text.replace("batch=", "global step=", 1)
        return written_out(text, cursor.flow)

    def missed(self, line: Line, cursor: Cursor) -> None:
        """A block goes on below few lines that are none of its own."""
        del line
        lines = cursor.of(Below)
        lines.left = max(0, lines.left - _BLOCK_COST)

    def close(self, cursor: Cursor) -> Reading | None:
        """Lines of an epoch that came once; not what an earlier run alone printed, behind the curve of the
        last."""
        reading, flow = Reading(), cursor.flow
        self._release(cursor, flow.step if flow.first is None else flow.first, reading)
        return reading

    @staticmethod
    def _release(cursor: Cursor, step: int | None, reading: Reading) -> None:
        """Gives lines of an epoch that wait for their like: what came before the first step stands there."""
        passed = cursor.log.sink.passed
        for values, at, axis, mark in cursor.of(EpochLines).close(step):
            reading.add([pair for pair in values if not passed(pair[0], mark)], at, axis, mark)

    def finish(self) -> Reading | None:
        """Measures that came twice and stood alone on their lines are believed once no third one can come;
        those that came once are in a log that shows nothing more than once, a few lines that were copied."""
        reading = Reading()
        for values, mark in self._candidates.believed():
            reading.add(values, None, "index", mark)
        return reading

    @staticmethod
    def _head(lines: Below, text: str) -> None:
        """`Validation results:` says whose measures the lines below it are, until a line shows a position
        again."""
        stage, heading, words = stage_in(text), heading_in(text), text.strip()
        if stage is not None:
            lines.take_turns(stage)
        if heading is None:
            return
        lines.heading = heading
        results = lines.heading and words.startswith("*****") and "Running" not in words
        if words.endswith("Run summary:") or results:
            lines.left = _BLOCK  # W&B's last values, and `***** eval metrics *****`: one to a line

    def _read(self, plan: Plan, cursor: Cursor, numbers: list[str], line: Line) -> Reading | None:
        """A line of a known template."""
        position, lines, mark = position_of(plan, numbers), cursor.of(Below), line.mark
        if plan.bare:
            return self._header(cursor, position, mark)
        evaluated = plan.split in EVALUATIONS
        if not plan.measures:
            heads = plan.counters and evaluated and line.text.rstrip().endswith(":")
            lines.left = _BLOCK if heads else lines.left
            return Reading() if heads else None
        if not plan.leading:
            return None
        values, reading = values_of(plan, numbers), Reading()
        if evaluated and position.total is not None and position.restarts:
            lines.heading = plan.split or ""
            if position.step is not None and position.step >= position.total - 1:
                self._place(cursor, plan, Position(epoch=position.epoch), values, mark, reading)
            return reading
        return self._accept(cursor, plan, position, values, line)

    def _header(self, cursor: Cursor, position: Position, mark: Mark) -> Reading | None:
        """A line with a position and nothing else; an indented block may follow."""
        if position.silent:
            return None
        reading = Reading()
        self.log.facts.totals(totals_of(position), mark)
        if position.step is not None:
            cursor.flow.place(position)
            cursor.of(Below).left = _BLOCK
        elif position.epoch is not None:
            self.log.format(KerasBar).enter(cursor, position.epoch, reading)
            cursor.flow.enter_epoch(position.epoch, alone=position.epochs == 1)
            cursor.flow.open = True
        return reading

    def _accept(
        self, cursor: Cursor, plan: Plan, position: Position, values: Values, line: Line
    ) -> Reading | None:
        reading, mark = Reading(), line.mark
        if position.silent and alarming(values, line.text):
            self._place(cursor, plan, position, values, mark, reading)
            return reading
        if not position.silent and plan.strong:
            self.log.facts.totals(totals_of(position), mark)
            self._place(cursor, plan, position, values, mark, reading)
            return reading
        if position.silent and cursor.of(Below).left and len(values) == 1:
            if cursor.flow.step is None and _counts_all(*values[0]):
                cursor.flow.step = int(values[0][1])  # W&B's last values, as at `train/global_step 120`
            reading.add(values, cursor.flow.step, "step", mark)
            return reading
        if position.silent and not plan.strong:
            return None
        if not self._often(cursor, plan, position, values, mark, reading):
            return None
        self._place(cursor, plan, position, values, mark, reading)
        return reading

    def _often(
        self,
        cursor: Cursor,
        plan: Plan,
        position: Position,
        values: Values,
        mark: Mark,
        reading: Reading,
    ) -> bool:
        """Whether lines of this shape have come often enough; those that waited for it are placed."""
        key = (mark.rank, plan.shape)
        if self._candidates.often(key):
            return True
        then = here(cursor) if position.silent else position
        one = Candidate(values, then, mark, plan.whole, plan.pure and position.silent)
        held = self._candidates.add(key, one, needed(cursor.flow, plan, position))
        if held is None:
            return False
        self._place_held(cursor, plan, held, reading)
        return True

    def _place_held(self, cursor: Cursor, plan: Plan, held: list[Candidate], reading: Reading) -> None:
        """Places lines of a shape that waited for their like, each where it stood."""
        flow = cursor.flow
        now = flow.step, flow.epoch
        known = self.log.sink.metrics() if held else set()
        early = [one for one in held if one.position.silent]
        if early and flow.step is None and flow.epoch is not None:
            cursor.of(EpochLines).heads(plan.shape)
        for one in held:
            # other lines show some of the same measures, too, and their steps went on
            fresh = [pair for pair in one.values if pair[0] not in known]
            if fresh:
                then = before_all(flow) if one.position.silent else one.position
                self._place(cursor, plan, then, fresh, one.mark, reading)
        flow.step, flow.epoch = now

    def _place(
        self,
        cursor: Cursor,
        plan: Plan,
        position: Position,
        values: Values,
        mark: Mark,
        reading: Reading,
    ) -> None:
        flow, silent = cursor.flow, position.silent
        if silent and flow.step is None and flow.epoch is None:
            reading.add(values, None, "index", mark)
            return
        by_epoch = cursor.of(EpochLines)
        if position.step is None and (flow.step is None or by_epoch.keeps(plan.shape, silent=silent)):
            for found in by_epoch.place(flow, plan.shape, position.epoch, values, mark):
                reading.add(*found)
            return
        step, axis = flow.place(position)
        if by_epoch.waits:
            self._release(cursor, flow.first, reading)
        if position.step is not None:
            by_epoch.step(values)
        elif position.epoch is not None:
            values = by_epoch.of_epoch(values)
        reading.add(values, step, axis, mark)


def _counts_all(name: str, value: float) -> bool:
    """Whether a value that stands alone is the step that a whole run came to."""
    return plain(name).endswith("global step") and value.is_integer() and 0 < value < 1e18
