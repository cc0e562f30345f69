"""Metric lines of all programs that have no format of their own: counters and named numbers, in whatever
order and with whatever marks between them (`step 5 | loss 2.1 | lr 1e-3`, `Epoch: [3][10/50] Loss: 0.4`)."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from hrmdoc.readers.log.formats.base import Again, Format, Held, Reading, Values
from hrmdoc.readers.log.formats.keras_bar import KerasBar
from hrmdoc.readers.log.grammar.numbers import spans_of, split_numbers
from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.position import Flow, Position
from hrmdoc.readers.log.grammar.values import position_of, totals_of, values_of
from hrmdoc.readers.log.grammar.words import EVALUATIONS, is_result, plain, split_of
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.readers.tables.decimals import PlainText
from hrmdoc.text import patterns

_ENDS_WITH_NAN = patterns.lazy(r"(?i)nan(?:, (?:device|dtype|grad_fn)=[^,)]{1,60}){0,3}\)?\s{0,8}\Z")
_MOST_SHAPES = 4096
_BLOCK = 200
"""Lines of an indented block at most."""
_BLOCK_COST = 20
"""A line that is none of the block's counts as so many of it."""
_SPLIT_LOGGERS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "eval", "evaluation"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
    "dev": "dev",
}
"""`[Val] loss: 0.5`: a logger, or a word in brackets, that is the name of a split."""
_SETTINGS = frozenset(
    {"coef", "coefficient", "weight", "scale", "factor", "lambda", "beta", "decay", "threshold"}
)
_HEADING_ENDS = (":", "=", "-", "*", "...", "…")
_ALIKE = 3
"""So many lines of one shape without a step are needed before they count as metric lines."""
_ALIKE_IN_RUN = 2
"""The same once the run's position is known."""

Shape = tuple[str, ...]


class _Candidate(Struct, frozen=True):
    """A line that may be one of metrics: it waits until its like has come often enough."""

    values: Values
    position: Position
    mark: Mark
    whole: bool
    pure: bool


class _Lines(State):
    """What lines before say of the next ones.

    Attributes:
        left: lines that may still belong to an indented block after a header.
        heading: the split that a heading named for the lines below it.
        epoch_shapes: what is known of lines that show an epoch only: the first of a shape waits.
        counting: the shape of such lines that come back within an epoch and so count steps.
    """

    MODAL: ClassVar[bool] = True

    left: int = 0
    heading: str = ""
    epoch_shapes: dict[Shape, Held | None] = field(default_factory=dict)
    counting: Shape | None = None

    @property
    def open(self) -> bool:
        """Whether a block is open."""
        return self.left > 0

    @property
    def mode(self) -> str:
        """Whose measures the lines show."""
        return self.heading


class KeyValue(Format):
    """Reads lines by their templates; asked when no other format takes a line."""

    ORDER: ClassVar[int] = 80

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._decimals = PlainText()
        self._seen: dict[tuple[int | None, Shape], list[_Candidate] | None] = {}

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """A position, or measures at one, or some that wait for their like."""
        if line.text.startswith("+") and line.text.lstrip("+").startswith(" "):
            return None  # what a shell says that it does (`set -x`): `++ return 0`
        text, lines = self._written(line, cursor), cursor.of(_Lines)
        split = _SPLIT_LOGGERS.get(line.logger.lower()) if line.logger else None
        known = self.log.plans.read(text, split or lines.heading)
        if known is None:
            self._head(lines, text)
            return None
        plan, numbers = known
        if lines.heading and not position_of(plan, numbers).silent:
            lines.heading = ""
            found = self.parse(line, cursor)
            return None if found is None else replace(found, again=None)  # the heading is gone
        reading = self._read(plan, cursor, numbers, line)
        if reading is not None and plan.measures and not plan.numbered and text is line.text:
            spans = spans_of(text, numbers)
            reading.again = None if spans is None else Again(partial(self._read, plan), spans)
        return reading

    def _written(self, line: Line, cursor: Cursor) -> str:
        """The line with points before its decimals, and its counter by the name of what it counts."""
        text = self._decimals.read(line.text) if self._decimals.wanted else line.text
        if line.logger == "metric" and text.startswith("[batch="):
            cursor.filed = True  # Composer's files count the batches of the whole run
            text = text.replace("batch=", "global step=", 1)
        return text

    def missed(self, line: Line, cursor: Cursor) -> None:
        """A block goes on below few lines that are none of its own."""
        del line
        lines = cursor.of(_Lines)
        lines.left = max(0, lines.left - _BLOCK_COST)

    def close(self, cursor: Cursor) -> Reading | None:
        """Lines of an epoch that came once."""
        lines, reading = cursor.of(_Lines), Reading()
        step = cursor.flow.step
        for held in filter(None, lines.epoch_shapes.values()):
            if step is None:
                reading.add(held.values, held.step, "epoch", held.mark)
            else:
                reading.add(held.values, step, "step", held.mark)
        lines.epoch_shapes.clear()
        return reading

    def finish(self) -> Reading | None:
        """Measures that came twice and stood alone on their lines are believed once no third one can come.

        Those that came once are, too, in a log that shows nothing more than once: a few lines that somebody
        copied.
        """
        reading = Reading()
        known = self.log.sink.metrics()
        for one in self._believed(known):
            new = [(name, value) for name, value in one.values if name not in known]
            reading.add(new, None, "index", one.mark)
        self._seen.clear()
        return reading

    def _believed(self, known: set[str]) -> list[_Candidate]:
        """Lines that still wait at the end, and show measures."""
        waiting = list(filter(None, self._seen.values()))
        every = list(chain.from_iterable(waiting))
        single = self.log.sink.single() and len(every) == len(waiting)
        if single and _believable(known, [one for one in every if one.pure]):
            return [one for one in every if one.whole and not _sets(one)]
        often = chain.from_iterable(held for held in waiting if len(held) + 1 >= _ALIKE)
        return [one for one in often if one.pure]

    @staticmethod
    def _head(lines: _Lines, text: str) -> None:
        """`Validation results:` says whose measures the lines below it are, until a line shows a position
        again."""
        words = text.strip()
        if len(words) > 48 or not words.endswith(_HEADING_ENDS) or len(split_numbers(text)) != 1:
            return
        split = split_of(words)
        lines.heading = split if split in EVALUATIONS else ""
        if words.endswith("Run summary:") or (lines.heading and words.startswith("*****")):
            lines.left = _BLOCK  # W&B's last values, and `***** eval metrics *****`: one to a line

    def _read(self, plan: Plan, cursor: Cursor, numbers: list[str], line: Line) -> Reading | None:
        """A line of a known template."""
        position, lines, mark = position_of(plan, numbers), cursor.of(_Lines), line.mark
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
            cursor.of(_Lines).left = _BLOCK
        elif position.epoch is not None:
            self.log.format(KerasBar).enter(cursor, position.epoch, reading)
            cursor.flow.enter_epoch(position.epoch, alone=position.epochs == 1)
        return reading

    def _accept(
        self, cursor: Cursor, plan: Plan, position: Position, values: Values, line: Line
    ) -> Reading | None:
        reading, mark = Reading(), line.mark
        if position.silent and _alarming(values, line.text):
            self._place(cursor, plan, position, values, mark, reading)
            return reading
        if not position.silent and plan.strong:
            self.log.facts.totals(totals_of(position), mark)
            self._place(cursor, plan, position, values, mark, reading)
            return reading
        if position.silent and cursor.of(_Lines).left and len(values) == 1:
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
        key, flow = (mark.rank, plan.shape), cursor.flow
        held = self._seen.get(key, [])
        if held is None:
            return True
        if len(held) + 1 < _needed(flow, plan, position):
            then = _here(cursor) if position.silent else position
            pure = plan.pure and position.silent
            self._hold(key, held, _Candidate(values, then, mark, plan.whole, pure))
            return False
        now = flow.step, flow.epoch
        known = self.log.sink.metrics() if held else set()
        for earlier in held:
            if not known.isdisjoint(name for name, _ in earlier.values):
                continue  # other lines show the same measures, too, and their steps went on
            before = earlier.position.silent and flow.first is not None
            then = Position(step=flow.first, restarts=False) if before else earlier.position
            self._place(cursor, plan, then, earlier.values, earlier.mark, reading)
        flow.step, flow.epoch = now
        self._seen[key] = None
        return True

    def _hold(self, key: tuple[int | None, Shape], held: list[_Candidate], one: _Candidate) -> None:
        if len(self._seen) >= _MOST_SHAPES:
            for others in filter(None, self._seen.values()):
                self.log.leave_out("lines of too many kinds that may be metrics", one.mark, len(others))
            self._seen.clear()
        held.append(one)
        self._seen[key] = held

    def _place(
        self,
        cursor: Cursor,
        plan: Plan,
        position: Position,
        values: Values,
        mark: Mark,
        reading: Reading,
    ) -> None:
        flow = cursor.flow
        if position.silent and flow.step is None and flow.epoch is None:
            reading.add(values, None, "index", mark)
            return
        if position.step is None and (flow.step is None or plan.shape == cursor.of(_Lines).counting):
            self._place_by_epoch(cursor, plan.shape, position, values, mark, reading)
            return
        step, axis = flow.place(position)
        reading.add(values, step, axis, mark)

    @staticmethod
    def _place_by_epoch(
        cursor: Cursor, shape: Shape, position: Position, values: Values, mark: Mark, reading: Reading
    ) -> None:
        """Lines that show the epoch alone. One that comes back within the epoch stands for a step: such lines
        are counted."""
        flow, lines = cursor.flow, cursor.of(_Lines)
        if position.epoch is not None:
            flow.enter_epoch(position.epoch)
        epoch = flow.epoch or 0
        if shape == lines.counting:
            flow.step = 0 if flow.step is None else flow.step + 1
            reading.add(values, flow.step, "step", mark)
        elif shape not in lines.epoch_shapes:
            lines.epoch_shapes[shape] = Held(values, epoch, "epoch", mark)
        else:
            first = lines.epoch_shapes[shape]
            lines.epoch_shapes[shape] = None
            if first is not None and first.step == epoch and lines.counting is None:
                lines.counting, flow.step = shape, 1
                reading.add(first.values, 0, "step", first.mark)
                reading.add(values, 1, "step", mark)
                return
            if first is not None:
                reading.add(first.values, first.step, "epoch", first.mark)
            reading.add(values, epoch, "epoch", mark)


def _counts_all(name: str, value: float) -> bool:
    """Whether a value that stands alone is the step that a whole run came to."""
    return plain(name).endswith("global step") and value.is_integer() and 0 < value < 1e18


def _believable(known: set[str], pure: list[_Candidate]) -> bool:
    """Whether results that stand alone on their lines are more than one number, or no number at all."""
    results = {name for candidate in pure for name, _ in candidate.values if is_result(name)}
    broken = any(not math.isfinite(value) for candidate in pure for _, value in candidate.values)
    return bool(results) and (len(results | known) > 1 or broken)


def _sets(candidate: _Candidate) -> bool:
    """Whether one of its names is that of a setting, such as `aux_loss_coef`."""
    return any(plain(name).rpartition(" ")[2] in _SETTINGS for name, _ in candidate.values)


def _needed(flow: Flow, plan: Plan, position: Position) -> int:
    """How many lines of a shape are needed."""
    if not position.silent or (flow.step is None and flow.epoch is None):
        return _ALIKE
    return 1 if plan.pure else _ALIKE_IN_RUN


def _here(cursor: Cursor) -> Position:
    """Where a line without counters stands: the step, or the epoch where no steps are counted."""
    step = cursor.flow.step
    return Position(step=step, epoch=cursor.flow.epoch if step is None else None, restarts=False)


def _alarming(values: Values, text: str) -> bool:
    """Whether one line is enough: `The grad norm is inf. Skipping the update.`, `train_loss nan` of an epoch
    that was the last.

    The best loss so far is infinite before there is any; and a sentence may go on behind a NaN.
    """
    broken = [(name.lower(), value) for name, value in values if not math.isfinite(value)]
    if len(values) == 1 and broken and "norm" in broken[0][0]:
        return True
    lost = any("loss" in name and math.isnan(value) for name, value in broken)
    return lost and (len(values) > 1 or _ENDS_WITH_NAN.search(text) is not None)
