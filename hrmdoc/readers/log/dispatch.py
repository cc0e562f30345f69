"""Shows a line to those who may understand it: formats of metrics, readers of failures, moments and facts."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from hrmdoc.readers.log import moments, opening, statements, summaries
from hrmdoc.readers.log.formats import formats
from hrmdoc.readers.log.formats.base import Again, Format, Reading, Silent
from hrmdoc.readers.log.glued import records_in
from hrmdoc.readers.log.grammar.numbers import spans_of, split_numbers
from hrmdoc.readers.log.grammar.settings import also_curve
from hrmdoc.readers.log.lines.prefix import Peeler
from hrmdoc.readers.log.lines.scan import BAR, CONFIG, FACT, METRIC, MOMENT, TROUBLE
from hrmdoc.readers.log.opening import Heading, Opening
from hrmdoc.readers.log.order import InOrder
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log, State
from hrmdoc.readers.log.tracebacks import Failure, TracebackReader
from hrmdoc.text.platforms import platform_in

_EARLY = 20
"""Formats of a lower order are asked before failures are looked for."""
_CONFIG_ROWS = 400


class Outcome(Struct, frozen=True):
    """What became of a line: whether it gave or changed anything, and how lines like it are read."""

    something: bool
    again: Again | None = None


_NOTHING = Outcome(False)
_SOMETHING = Outcome(True)


class _Config(State):
    """Lines that may still belong to a printed configuration.

    Attributes:
        left: how many at most.
        optimizer: it is that of an optimizer, which may be printed again as its rate changes: its rows are
            measures, too.
    """

    MEASURES: ClassVar[bool] = False

    left: int = 0
    optimizer: bool = False

    @property
    def open(self) -> bool:
        """Whether the next line may."""
        return self.left > 0


def _may_state(text: str) -> bool:
    """Whether a line may state settings by other numbers: of a mapping its names tell that alone."""
    return opening.has_form(text) and not text.startswith("{")


def _pass_over(cursor: Cursor, numbers: list[str], line: Line) -> Reading | None:
    """A line that gives nothing."""
    del cursor, numbers, line
    return None


class Dispatcher:
    """Reads lines whose prefixes are peeled."""

    def __init__(self, log: Log, peeler: Peeler) -> None:
        self.log = log
        self._peeler = peeler
        self._optimizer = False
        self._heading = Heading()
        self._tracebacks = TracebackReader(log.sink)
        known = self._formats = [kind(log) for kind in formats()]
        self._heeding = [format_ for format_ in known if type(format_).missed is not Format.missed]
        log.formats.update({type(format_): format_ for format_ in known})
        self._early = InOrder([format_ for format_ in known if format_.ORDER < _EARLY])
        self._metrics = InOrder([format_ for format_ in known if format_.ORDER >= _EARLY])

    def read(self, line: Line, cursor: Cursor) -> Outcome:
        """Reads a line."""
        if line.kept:
            self._tracebacks.keep(cursor, line.text, line.mark)
        self._tracebacks.unfold(line, cursor)
        stated = self.log.facts.stated
        outcome = self._message(line, cursor)
        self._heading.passed |= cursor.flow.step is not None or cursor.flow.epoch is not None
        return outcome if self.log.facts.stated == stated or outcome.something else _SOMETHING

    def silent(self, line: Line, cursor: Cursor) -> Again | None:
        """How lines are passed over that differ in their numbers alone from one that gave nothing; None where
        each needs a look of its own."""
        text = line.text
        glued = max(text.count("["), text.count("poch")) > 1
        if glued or not all(format_.passes(line, cursor) for format_ in self._formats):
            return None
        spans = spans_of(text, split_numbers(text)[1::2])
        return Again(_pass_over, [], spans or [], many=Silent())

    def close(self, cursor: Cursor) -> None:
        """No more lines come of a rank."""
        for format_ in self._formats:
            self._give(format_.close(cursor))
        self._tracebacks.close(cursor)

    def finish(self) -> None:
        """No more lines come at all."""
        for format_ in self._formats:
            self._give(format_.finish())

    def _give(self, reading: Reading | None) -> None:
        if reading is not None:
            reading.give(self.log.sink)

    def _message(self, line: Line, cursor: Cursor) -> Outcome:
        kinds = line.kinds
        if (early := self._early_of(line, cursor)) is not None:
            return early
        failure = cursor.of(Failure)
        failed = kinds & TROUBLE or failure.traceback or failure.summary
        if failed and self._tracebacks.read(line, cursor):
            return _SOMETHING
        moment = self._moment(line, cursor)
        settings = self._settings(line, cursor)
        if settings:
            return _SOMETHING
        found = self._measured(line, cursor) if kinds & METRIC or cursor.measures else None
        if found is None:
            self._state(line, cursor)
            found = _NOTHING
            if moment is not None and settings is None and not kinds & (METRIC | FACT | CONFIG):
                return Outcome(True, moment.again)
        return found if moment is None and settings is None else _SOMETHING

    def _moment(self, line: Line, cursor: Cursor) -> Reading | None:
        """What a line tells of the course of a training."""
        moment = moments.moment_in(line, cursor) if line.kinds & MOMENT else None
        self._give(moment)
        return moment

    def _early_of(self, line: Line, cursor: Cursor) -> Outcome | None:
        """What became of a line of a format that is asked before failures are looked for."""
        opened = cursor.open
        asks = line.kinds & (BAR | TROUBLE) or opened
        return self._of(self._early, line, cursor, opened=opened) if asks else None

    def _measured(self, line: Line, cursor: Cursor) -> Outcome | None:
        """What became of a line about metrics; one that no format takes may head others."""
        records = records_in(line.text)
        if len(records) > 1:
            for text in records:
                self._measured(replace(line, text=text), cursor)
            return _SOMETHING
        found = self._of(self._metrics, line, cursor, opened=cursor.open)
        if found is None:
            for format_ in self._heeding:
                format_.missed(line, cursor)
        return found

    def _of(self, formats_: InOrder, line: Line, cursor: Cursor, *, opened: bool) -> Outcome | None:
        """What became of a line of one of these formats; `opened`: something of several lines is."""
        reading = formats_.parse(self.log, line, cursor, opened=opened)
        if reading is None:
            return None
        reading.give(self.log.sink)
        if reading.left == "facts":
            self._state(line, cursor)
            return _SOMETHING
        if reading.rest:
            message = self._peeler.peel(reading.rest)
            rest = Line(message.rest, line.mark, line.kinds & ~BAR, message.logger, line.whole, line.kept)
            self._message(rest, cursor)
        return Outcome(True, reading.again)

    def _settings(self, line: Line, cursor: Cursor) -> bool | None:
        """Whether the line states settings and nothing else; None where it looks like none, so that others
        of its shape may be read as it is."""
        if cursor.of(Opening).of_evaluation(line) or self._config_row(line, cursor):
            return True
        return self._opening(line, cursor)

    def _config_row(self, line: Line, cursor: Cursor) -> bool:
        """Whether the line is a row of a printed configuration; another line ends it."""
        config = cursor.of(_Config)
        if not config.left:
            return False
        row = statements.config_row(line.text)
        comment = line.text.startswith("#")
        config.left = config.left - 1 if row or comment else 0
        if row:
            self.log.facts.add(row[0], row[1], "config", line.mark)
            if not config.optimizer and opening.has_form(line.text):
                self._heading.keep(line, [row])
        return not config.optimizer and (row is not None or comment)

    def _opening(self, line: Line, cursor: Cursor) -> bool | None:
        """The same of settings that stand before anything was trained, and of those that come again."""
        state, facts = cursor.of(Opening), self.log.facts
        passed = self._heading.passed or line.mark.line > opening.OPENING
        if passed or cursor.measures:
            state.left = 0
            return self._heading.comes_again(line, state) if passed else False
        found = opening.read(line, cursor, self._heading)
        if found is None:
            return False if _may_state(line.text) else None
        changed = any(also_curve(key) and facts.changes(key, value) for key, value in found.stated)
        if found.may or (changed and not found.sure):
            return False  # what changes is a curve
        for key, value in found.stated:
            facts.add(key, value, "config", line.mark)
        if found.sure and len(found.stated) > 1:
            facts.tried(found.stated, line.mark)
        self._heading.keep(line, found.stated)
        self._state(line, cursor)
        return True

    def _state(self, line: Line, cursor: Cursor) -> None:
        """Facts that the line states."""
        if not line.kinds & (FACT | CONFIG):
            return
        facts, text, mark = self.log.facts, line.text, line.mark
        group = not self._optimizer and summaries.opens_group(text)
        if group or statements.opens_config(text):
            config = cursor.of(_Config)
            config.left, config.optimizer = _CONFIG_ROWS, group
            cursor.of(Opening).left = 0 if group else 1
            self._optimizer |= group
            if file := statements.config_file(text):
                facts.add("run.config_source", file, "run", mark)
        for key, value in statements.numbers_in(text):
            facts.add(key, value, "run", mark)
            cursor.steps_per_epoch = facts.steps_per_epoch() or cursor.steps_per_epoch
        if "param" in text.lower():
            for key, count in summaries.counts_in(text):
                facts.add(key, count, "run", mark)
        if optimizer := summaries.optimizer_in(text):
            facts.add("optimizer", optimizer, "config", mark)
        if platform := platform_in(text):
            facts.add("device.platform", platform, "run", mark)
        for key, version in statements.versions_in(text):
            facts.add(key, version, "version", mark)
        for key, value in statements.arguments_in(text):
            facts.add(key, value, "config", mark)
