"""Measures beside a progress bar: one record a position, however often the bar is drawn."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import ClassVar

from msgspec import Struct, field

from hrmdoc.readers.log.formats.base import Again, Format, Held, Many, Reading, Values
from hrmdoc.readers.log.formats.column_table import ColumnTable
from hrmdoc.readers.log.formats.python_dict import PythonDict
from hrmdoc.readers.log.grammar.bars import Bar, bars_of, count_of
from hrmdoc.readers.log.grammar.numbers import spans_of
from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.position import Position
from hrmdoc.readers.log.grammar.values import number, position_of, totals_of
from hrmdoc.readers.log.grammar.words import EVALUATIONS, is_total, measures, plain, split_of
from hrmdoc.readers.log.lines.scan import BAR
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.epoch_lines import EpochLines
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_PREPARES = patterns.lazy(
    r"(?:Map|Filter)\b(?! ?[@\d:=.])|.{0,200}\(num_proc=\d"
    r"|(?i:tokeni[sz]ing|pre-?processing|downloading|loading|fetching|extracting|flattening|packing"
    r"|running tokenizer|saving the dataset|generating \w+ split)\b"
)
"""How bars begin that prepare data: those of Hugging Face's `datasets`, and what programs call theirs."""


_PAIRS = patterns.lazy(
    r"(?:[A-Za-z][\w/ .()-]{0,40}?\s?[:=]\s?[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?[;,|\s]{0,4}){1,12}:?\Z"
)
_SINGLE, _DOUBLE = patterns.lazy(r"\.\d{3}"), patterns.lazy(r"\.\d\d.{1,60}\.\d\d")
"""A bar that is described by nothing but names and numbers measures them, where those have decimals as
measures have: three, or two where there are two; a search tries `alpha: 0.1`."""


class Redraws(State):
    """The newest redraw of a bar with measures, values of measures that change once an epoch but are drawn
    always, and the totals that were shown last.

    Attributes:
        headed: a line has said that a validation begins, and no bar has come.
        evaluated: the total of the bar that then came, until one of another total does; 0 for none.
    """

    MODAL: ClassVar[bool] = True

    headed: bool = False
    evaluated: int = 0
    newest: Held | None = None
    totals: tuple[int | None, int] | None = None
    slow: dict[str, float] = field(default_factory=dict)

    @property
    def mode(self) -> int:
        """What bars are drawn for."""
        return -1 if self.headed else self.evaluated

    def evaluates(self, total: int) -> bool:
        """Whether a bar is of a validation that a line of its own has headed: of another total than the bar
        of the training."""
        if self.headed:
            self.evaluated = total if self.totals is not None and self.totals[1] != total else 0
        elif self.evaluated != total:
            self.evaluated = 0
        self.headed = False
        return self.evaluated > 0


class Part(Struct, frozen=True):
    """Measures in the text beside a bar: its plan, and those of its measures that count."""

    plan: Plan
    named: tuple[tuple[str, int, float], ...]
    described: bool

    def values(self, numbers: list[str]) -> Values:
        """The measures by their names."""
        return [(name, number(numbers[at]) * scale) for name, at, scale in self.named]


class Drawn(Struct, frozen=True):
    """All of a redraw but its numbers."""

    main: bool
    ignored: bool
    parts: tuple[Part, ...]


class ManyRedraws(Many, frozen=True):
    """Redraws that differ in their numbers; of each part, how many those are."""

    drawn: Drawn
    counts: tuple[int, ...]


class TqdmBar(Format):
    """Bars are drawn again and again: only the last redraw at a position becomes points."""

    ORDER: ClassVar[int] = 10
    KINDS: ClassVar[int] = BAR
    MARKS: ClassVar[tuple[str, ...]] = ("%",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """Bars on one piece; where one's description is a row or a header of a table, the table's."""
        if not line.kinds & BAR or not (bars := bars_of(line.text)):
            return None
        tables = self.log.format(ColumnTable)
        reading = Reading(rest=bars[-1].after.strip())
        bare = len(bars) == 1 and not reading.rest
        for bar in bars:
            table = tables.under_bar(bar.desc, bar.n >= bar.total, line, cursor)
            if table is not None:
                reading.found += table.found
                bare = False
                continue
            if cursor.of(Redraws).evaluates(bar.total):
                bare = False
                continue
            drawn, numbers = self._drawn(bar)
            self._take(reading, cursor, drawn, bar.n, bar.total, numbers, line.mark)
            if bare and tables.never_in(bar.desc, cursor):
                reading.again = self._again(bar, drawn, numbers)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One without a bar that heads none."""
        del cursor
        return not (line.kinds & BAR or _heads(line.text))

    def missed(self, line: Line, cursor: Cursor) -> None:
        """`Validating` on a line of its own says whose the bar below it is."""
        if _heads(line.text):
            cursor.of(Redraws).headed = True

    def close(self, cursor: Cursor) -> Reading | None:
        """The last redraw of all."""
        reading = Reading()
        self.flush(cursor.of(Redraws), reading)
        return reading

    def _drawn(self, bar: Bar) -> tuple[Drawn, list[list[str]]]:
        """What the texts beside the bar measure, and their numbers."""
        evaluating = split_of(bar.desc) in EVALUATIONS and "epoch" not in bar.desc.lower()
        parts, numbers = [], []
        for text, described in ((bar.desc, True), (bar.postfix, False)):
            known = self.log.plans.read(text) if text else None
            if known is None:
                continue
            plan, found = known
            every = not described or _measured(text)
            named = tuple(
                (measure.name, measure.at, measure.scale)
                for measure in plan.measures
                if every or measures(measure.name) or is_total(measure.name)
            )
            parts.append(Part(plan, named, described))
            numbers.append(found)
        main = not bar.desc and bar.counts_steps
        ignored = evaluating or bar.counts_bytes or _PREPARES.match(bar.desc) is not None or _searches(parts)
        return Drawn(main, ignored, tuple(parts)), numbers

    def _again(self, bar: Bar, drawn: Drawn, numbers: list[list[str]]) -> Again | None:
        """The same for a redraw of other numbers, where each text beside the bar shows its numbers as they
        are."""
        desc, postfix, n, total, whole = bar.places
        spans = [n, total]
        for part, found in zip(drawn.parts, numbers, strict=True):
            text, at = (bar.desc, desc) if part.described else (bar.postfix, postfix)
            places = spans_of(text, found)
            if places is None or part.plan.numbered or (part.described and _by_decimals(part, text)):
                return None
            spans += [(at + start, at + end) for start, end in places]
        behind = postfix + len(bar.postfix)
        free = [(whole[0], postfix), (behind, whole[1])] if bar.postfix else [whole]
        counts = tuple(len(found) for found in numbers)
        read = partial(self._redrawn, drawn, counts)
        return Again(read, spans, free, many=ManyRedraws(drawn, counts))

    def _redrawn(
        self, drawn: Drawn, counts: tuple[int, ...], cursor: Cursor, numbers: list[str], line: Line
    ) -> Reading:
        reading, at, parts = Reading(), 2, []
        for count in counts:
            parts.append(numbers[at : at + count])
            at += count
        self._take(reading, cursor, drawn, count_of(numbers[0]), count_of(numbers[1]), parts, line.mark)
        return reading

    def _take(
        self,
        reading: Reading,
        cursor: Cursor,
        drawn: Drawn,
        n: int,
        total: int,
        numbers: list[list[str]],
        mark: Mark,
    ) -> None:
        """Takes one redraw in; the one before it becomes points where it was of another position."""
        main = drawn.main and cursor.bar.see(n, total)
        if not drawn.ignored and not cursor.filed:
            self._measure(reading, cursor, drawn, n, total, numbers, mark)
        if main:
            self.log.facts.add("run.total_steps", total, "run", mark)
            self.log.format(PythonDict).redrawn(cursor, reading)

    def _measure(
        self,
        reading: Reading,
        cursor: Cursor,
        drawn: Drawn,
        n: int,
        total: int,
        numbers: list[list[str]],
        mark: Mark,
    ) -> None:
        values: Values = []
        position = Position()
        for part, found in zip(drawn.parts, numbers, strict=True):
            values += part.values(found)
            shown = position_of(part.plan, found) if part.plan.counters else Position()
            if part.described:
                position = shown
            elif shown.step is not None:
                position = Position(position.epoch, shown.step, shown.total, False, position.epochs)
        if values:
            self._place(reading, cursor, values, position, n, total, mark)

    def _place(
        self,
        reading: Reading,
        cursor: Cursor,
        values: Values,
        position: Position,
        n: int,
        total: int,
        mark: Mark,
    ) -> None:
        drawn = n
        if position.step is not None:
            drawn = max(n, 1)
        else:
            position = Position(position.epoch, n, total, True, position.epochs)
        redraws = cursor.of(Redraws)
        if redraws.totals != (position.epochs, total):
            redraws.totals = (position.epochs, total)
            self.log.facts.totals(totals_of(position), mark)
        step, axis = cursor.flow.place(position)
        cursor.of(EpochLines).step(values)
        newest = redraws.newest
        if newest is not None and (newest.step, newest.n, newest.total) != (step, drawn, total):
            self.flush(redraws, reading)
            newest = None
        if newest is not None:
            values = list({**dict(newest.values), **dict(values)}.items())
        redraws.newest = Held(values, step, axis, mark, drawn, total)

    @staticmethod
    def flush(redraws: Redraws, reading: Reading) -> None:
        """The redraw that was the last one at its position becomes points."""
        newest, redraws.newest = redraws.newest, None
        if newest is None:
            return
        values = []
        for name, value in newest.values:
            if is_slow(name):
                if repr(redraws.slow.get(name)) == repr(value) and newest.n < newest.total:
                    continue
                redraws.slow[name] = value
            elif newest.n == 0 and newest.total > 1:
                continue
            values.append((name, value))
        if values:
            reading.add(values, newest.step, newest.axis, newest.mark, precision=0)


def _heads(text: str) -> bool:
    """Whether a line is nothing but the word that heads the bar of a validation, as AllenNLP's is."""
    return text.strip(" .:-=*").lower() in ("validating", "evaluating")


def _searches(parts: list[Part]) -> bool:
    """Whether a bar counts the trials of a search: all that it shows is the best so far, as hyperopt and
    Optuna do, and no place in a run."""
    names = [plain(name) for part in parts for name, _, _ in part.named]
    counted = any(part.plan.counters for part in parts)
    return bool(names) and not counted and all(name.startswith("best ") for name in names)


def _measured(text: str) -> bool:
    """Whether a description measures, whatever its names are."""
    return _PAIRS.match(text) is not None and bool(_SINGLE.search(text) or _DOUBLE.search(text))


def _by_decimals(part: Part, text: str) -> bool:
    """Whether the decimals of its numbers say that a description measures."""
    known = (measures(measure.name) or is_total(measure.name) for measure in part.plan.measures)
    return not all(known) and _PAIRS.match(text) is not None


@lru_cache(maxsize=1024)
def is_slow(name: str) -> bool:
    return split_of(name) in EVALUATIONS or name.endswith("_epoch")
