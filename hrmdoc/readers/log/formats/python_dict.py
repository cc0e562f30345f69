"""Records printed as Python or JSON mappings, as Hugging Face's Trainer does: `{'loss': 2.1, 'epoch': 0.3}`.

Their step stands in the mapping, or comes from the progress bar's next redraw, or from the epoch. The bar is
drawn again right after a record is printed, and then shows the step of the record exactly, while the redraw
before it may be steps behind. So a record without a step waits for that redraw. Where several wait for the
same one the output was buffered, and their epochs decide (`state/waiting.py`).
"""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from typing import ClassVar

from hrmdoc.readers.log.formats.base import Again, Format, Many, Reading
from hrmdoc.readers.log.grammar.headings import heading_in, may_head
from hrmdoc.readers.log.grammar.mapping import Mapping, mapping_from, mapping_of, of_split, places_of
from hrmdoc.readers.log.grammar.settings import states
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.readers.log.state.waiting import Waiting
from hrmdoc.record.records import Axis, Event, Fact
from hrmdoc.text import patterns

_ALIKE = 3
"""So many mappings of the same keys are records even where nothing says where they belong."""
_MOST_SHAPES = 4096
_MOST_KINDS = 16
"""Of so many kinds of records it is known which others are rows of them."""
_OUTPUT = patterns.lazy(r"TrainOutput\(global_step=(\d{1,15}),")
_TRIAL = patterns.lazy(r"""["']status["']: ?["'](?:ok|fail|new)["']""")
"""What Hyperopt got from a trial: its `loss` is what is searched for, whatever that is."""
_OF_TRAINING = frozenset({"learning_rate", "lr", "grad_norm"})
_RIGHT_BELOW = 2
_OPENS = ("{'", '{"', "{ '")


class Headed(State):
    """The part of the data that the line above named, for a mapping that says of no part that it is.

    Attributes:
        split: its name; "" where the line named none.
        line: where it stood.
    """

    MODAL: ClassVar[bool] = True

    split: str = ""
    line: int = 0

    @property
    def mode(self) -> str:
        """Whose measures the next mapping may show."""
        return self.split


class Mappings(Many, frozen=True):
    """Flat mappings of the same keys."""

    keys: tuple[str, ...]
    quoted: bool


class Closed(State):
    """A training that has printed its summary."""

    epoch: float | None = None
    """Where it ended; None where none has, or another has begun."""


class PythonDict(Format):
    """Mappings in one line, wherever on it they stand."""

    ORDER: ClassVar[int] = 30
    MARKS: ClassVar[tuple[str, ...]] = _OPENS

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._seen: dict[tuple[str, ...], list[tuple[Mapping, Mark]] | None] = {}
        self._believed: deque[tuple[str, ...]] = deque(maxlen=_MOST_KINDS)

    def _place(self, mapping: Mapping, text: str) -> None:
        """The step that stands before a mapping, or that the output of a training tells."""
        if mapping.step is None and text[0] != "{":
            mapping.step = self.log.plans.step_in(text[: text.index("{")])
        if mapping.shape.closing and (output := _OUTPUT.match(text)):
            mapping.step = int(output.group(1))

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """The record on the line."""
        text = line.text
        if not any(opens in text for opens in _OPENS) or (mapping := mapping_of(text)) is None:
            return None
        if states(mapping.values, self.log.settings):
            self.log.facts.tried(mapping.values.items(), line.mark)
            return Reading(left="facts")
        if not mapping.shape.measured and not mapping.shape.closing and text[0] != "{":
            return None  # what counts something behind a line of metrics is no record, and the line is theirs
        again = self._again(mapping, text)
        self._place(mapping, text)
        if split := self._split(mapping, line, cursor):
            of_split(mapping, split, cursor.flow.epoch)
            again = None
        reading = Reading()
        if mapping.step is None and mapping.epoch is None and _TRIAL.search(text):
            return reading
        if self.record(cursor, mapping, line.mark, reading):
            reading.again = again
        else:
            reading.left = "facts"
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without a mapping that heads none."""
        del cursor
        return not any(opens in line.text for opens in _OPENS) and not may_head(line.text or line.whole)

    def missed(self, line: Line, cursor: Cursor) -> None:
        """`[TEST]` on a line of its own says whose the mapping below it is."""
        headed = cursor.of(Headed)
        headed.split, headed.line = heading_in(line.text or line.whole) or "", line.mark.line

    @staticmethod
    def _split(mapping: Mapping, line: Line, cursor: Cursor) -> str:
        """The part of the data that a mapping is of by the words before it, `valid_results: {`, or by the
        line right above it; "" where nothing says so, and of the record of a step."""
        headed, before = cursor.of(Headed), line.text[: line.text.index("{")]
        above, headed.split = headed.split, ""
        if mapping.step is not None or mapping.epoch is not None or line.text.count("{") > 1:
            return ""
        if not _OF_TRAINING.isdisjoint(mapping.values):
            return ""
        if before.strip():
            return heading_in(before) or ""
        return above if line.mark.line <= headed.line + _RIGHT_BELOW else ""

    def close(self, cursor: Cursor) -> Reading | None:
        """Records that no redraw followed."""
        reading = Reading()
        self._flush(cursor, reading)
        return reading

    def record(self, cursor: Cursor, mapping: Mapping, mark: Mark, reading: Reading) -> bool:
        """Whether a mapping is a record of metrics; then it is read, or waits for a redraw."""
        if mapping.shape.closing:
            self._close_training(cursor, mapping, mark, reading)
            return True
        if not mapping.shape.measured:
            return False
        self._begin_again(cursor, mapping, mark, reading)
        placed = mapping.step is not None or (mapping.epoch is not None and len(mapping.values) > 1)
        if not placed and not mapping.shape.certain and not self._repeated(cursor, mapping, mark, reading):
            return False
        if mapping.total:
            self.log.facts.add("run.total_steps", mapping.total, "run", mark)
        if mapping.step is not None or not self._awaits_bar(cursor, mapping, mark):
            self._emit(cursor, mapping, mark, mapping.step, reading)
            return True
        waiting = cursor.of(Waiting)
        if not waiting.holds(mapping):
            self._flush(cursor, reading)
        waiting.add(mapping, mark, cursor.bar)
        return True

    def redrawn(self, cursor: Cursor, reading: Reading) -> None:
        """The run's bar was drawn again: the waiting records belong to its position."""
        self.emit_waiting(cursor, cursor.bar.n, reading)

    def emit_waiting(self, cursor: Cursor, step: int | None, reading: Reading) -> None:
        """The waiting records belong to a step, or came too late for it."""
        waiting = cursor.of(Waiting)
        waiting.learn(cursor.bar, step)
        for mapping, mark in waiting.records:
            self._emit(cursor, mapping, mark, waiting.step_of(mapping, step), reading)
        waiting.records.clear()

    def _again(self, mapping: Mapping, text: str) -> Again | None:
        """How a line is read that differs in nothing but the numbers of one flat mapping."""
        if text[0] != "{" or text.count("{") > 1:
            return None
        keys, spans = places_of(text)
        numbers = [text[start:end] for start, end in spans]
        if not keys or repr(mapping_from(keys, numbers, quoted=mapping.quoted)) != repr(mapping):
            return None
        many = Mappings(keys, mapping.quoted)
        return Again(partial(self._another, keys, mapping.quoted), spans, many=many)

    def _another(
        self, keys: tuple[str, ...], quoted: bool, cursor: Cursor, numbers: list[str], line: Line
    ) -> Reading:
        reading = Reading()
        mapping = mapping_from(keys, numbers, quoted=quoted)
        self.record(cursor, mapping, line.mark, reading)
        return reading

    def believed(self, mapping: Mapping) -> bool:
        """Whether mappings of these keys have come often enough to be records."""
        return self._seen.get(tuple(mapping.values), []) is None

    def _repeated(self, cursor: Cursor, mapping: Mapping, mark: Mark, reading: Reading) -> bool:
        """Mappings without a position must come back with the same keys; the first ones wait till then."""
        key = tuple(mapping.values)
        held = self._seen.get(key, [])
        if held is None:
            return True
        if len(held) + 1 < _ALIKE and not any(_of_a_kind(key, other) for other in self._believed):
            if len(self._seen) >= _MOST_SHAPES:
                for others in filter(None, self._seen.values()):
                    self.log.leave_out("mappings of too many kinds", mark, len(others))
                self._seen.clear()
            held.append((mapping, mark))
            self._seen[key] = held
            return False
        for earlier, where in self._believe(key):
            if earlier.below is None and mapping.below is not None:
                earlier.below = 0  # an evaluation before the first epoch
            self._emit(cursor, earlier, where, None, reading)
        return True

    def _believe(self, key: tuple[str, ...]) -> list[tuple[Mapping, Mark]]:
        """Mappings of these keys are records: those that waited, in order, and of others of their kind."""
        self._believed.append(key)
        kin = [other for other, held in self._seen.items() if held and _of_a_kind(key, other)]
        waited = [one for other in dict.fromkeys((*kin, key)) for one in self._seen.get(other) or ()]
        self._seen.update(dict.fromkeys((*kin, key)))
        return sorted(waited, key=lambda one: one[1].line)

    def _awaits_bar(self, cursor: Cursor, mapping: Mapping, mark: Mark) -> bool:
        known = cursor.bar.total
        if not mapping.shape.evaluation and not cursor.of(Waiting).late:
            cursor.bar.choose()
        if cursor.bar.total not in (known, None):
            self.log.facts.add("run.total_steps", cursor.bar.total, "run", mark)
        return not cursor.bar.complete or (
            cursor.bar.passed and bool(mapping.epoch) and not cursor.steps_per_epoch
        )

    def _flush(self, cursor: Cursor, reading: Reading) -> None:
        """No redraw will show the step of the waiting records."""
        self.emit_waiting(cursor, None, reading)

    def _emit(self, cursor: Cursor, mapping: Mapping, mark: Mark, step: int | None, reading: Reading) -> None:
        if step is None:
            step = cursor.of(Waiting).step_of(mapping, None)
        if step is None:
            step = self._guess(cursor, mapping)
        elif mapping.epoch:
            cursor.steps_per_epoch = step / mapping.epoch
        if step is not None:
            cursor.flow.step = step
        for key in mapping.shape.other:
            del mapping.values[key]
        at: tuple[int | None, Axis] = (step, "step")
        if step is None and mapping.below is not None:
            at = mapping.below, "epoch"
        reading.add(mapping.values.items(), *at, mark, precision=0 if mapping.quoted else 1)

    @staticmethod
    def _guess(cursor: Cursor, mapping: Mapping) -> int | None:
        """By the epoch where its length is known, else by the bar, else the step of the record before."""
        if mapping.epoch is not None and cursor.steps_per_epoch:
            return round(mapping.epoch * cursor.steps_per_epoch)
        if cursor.bar.n is not None:
            return cursor.bar.n
        return cursor.flow.step if mapping.shape.evaluation or mapping.epoch is None else None

    def _begin_again(self, cursor: Cursor, mapping: Mapping, mark: Mark, reading: Reading) -> None:
        """An earlier epoch behind the summary of a training is of the next one in the same output."""
        closed = cursor.of(Closed)
        if closed.epoch is not None and mapping.epoch is not None and mapping.epoch < closed.epoch:
            closed.epoch, cursor.steps_per_epoch, cursor.of(Waiting).pace = None, 0.0, None
            reading.records.append(Event("launch", self.log.file, mark.line))

    def _close_training(self, cursor: Cursor, mapping: Mapping, mark: Mark, reading: Reading) -> None:
        """The summary at the end of a training. One value that is no number, anywhere in the run, makes the
        mean of all none."""
        cursor.of(Waiting).learn(cursor.bar, None, mapping.epoch)
        self._flush(cursor, reading)
        cursor.of(Closed).epoch = mapping.epoch
        if mapping.step:
            cursor.flow.step = mapping.step
            cursor.steps_per_epoch = mapping.step / mapping.epoch if mapping.epoch else cursor.steps_per_epoch
        for key, value in mapping.values.items():
            if key.startswith("train_"):
                reading.records.append(Fact(key, value, "config", self.log.file, mark.line))
        mean = mapping.values.get("train_loss", 0.0)
        if not math.isfinite(mean):
            reading.add([("train_loss", mean)], cursor.flow.step, "step", mark)
        detail = f"train_runtime {mapping.values['train_runtime']:g} s"
        reading.records.append(
            Event("end", self.log.file, mark.line, cursor.flow.step, mark.time, mark.rank, detail)
        )


def _of_a_kind(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether mappings are rows of one record, of which some have more to say than others."""
    fewer, more = sorted((set(keys), set(others)), key=len)
    return len(fewer) > 1 and fewer <= more
