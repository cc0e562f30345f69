"""Keras draws the bar of an epoch, `6/6 ... - loss: 0.8`, again and again: one record an epoch, the last
redraw."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from msgspec import field

from hrmdoc.readers.log.formats.base import Again, Format, Held, Many, Reading, Values
from hrmdoc.readers.log.grammar.numbers import spans_of
from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.values import values_of
from hrmdoc.readers.log.grammar.words import split_of
from hrmdoc.readers.log.state.cursor import Cursor, Line, State
from hrmdoc.readers.log.state.sink import Mark
from hrmdoc.text import patterns

_FILL = patterns.lazy(r"[━╸╺]+|\[[=>.]{2,}\]")
_TOTAL = patterns.lazy(r"\s*\d+/(\d+) \[")
_DRAWN = patterns.lazy(r"\s*(\d+)/(\d+|Unknown)\b.{0,80}?(?:/(?:step|epoch|sample)| - \d{1,7}s - |ETA: )")
_ALONE = patterns.lazy(r"\s*(\d+)/(\d+)(?= )")
_CUT = patterns.lazy(r" - [A-Za-z_ ]{1,40}: [-\d.]{1,24}e-?0?\Z")
"""A bar that is as wide as its terminal loses the end of an exponent: `reader cost: 9.9146e-`."""
_PAIR = r"[A-Za-z_]\w{0,60}: -?(?:\d{1,12}\.\d{4}(?:e[-+]\d\d)?|nan|inf)"
_RECORD = patterns.lazy(rf"(?: - )?(?:{_PAIR} - ){{0,40}}{_PAIR}")
_NAME = patterns.lazy(r"(?<!\w)\w+(?=: )")
_BEGINS = ("[", "━", "╸", "╺")
_MOST_DRAWN = 10_000


class EpochBars(State):
    """The newest redraw of an epoch's bar, and redraws in the middle of an epoch that no line has named: what
    a log cut out of it shows.

    Attributes:
        trained: the batches of the first full bar behind the heading of an epoch: one of others that follows
            it is of an evaluation.
    """

    newest: Held | None = None
    trained: int = 0
    drawn: list[Held] = field(default_factory=list)

    def evaluates(self, total: int) -> bool:
        """Whether a bar of so many batches is what `evaluate` draws behind `fit`."""
        return self.trained not in (0, total)


class EpochRedraws(Many, frozen=True):
    """Redraws in the middle of an epoch, with the measures of one plan behind batch and batches."""

    plan: Plan


class KerasBar(Format):
    """The lines of such bars; a heading such as `Epoch 1/9` names the epoch."""

    MARKS: ClassVar[tuple[str, ...]] = ("/",)

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """One redraw of a bar."""
        found = match(line.text)
        if found is None:
            return None
        batch, total, rest = found
        known = self.log.plans.read(rest)
        values = values_of(*known) if known else []
        reading = self._draw(cursor, batch, total, values, line.mark, told="/Unknown" not in line.text)
        if known and values and batch < total and line.text.endswith(rest):
            reading.again = self._again(line.text, rest, *known)
        return reading

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """One that begins with no number, nor with a bar."""
        del cursor
        first = line.text.lstrip()[:1]
        return "/" not in line.text or not (first.isdigit() or first in _BEGINS)

    def _again(self, text: str, rest: str, plan: Plan, numbers: list[str]) -> Again | None:
        """How redraws in the middle of an epoch are read that differ in their numbers alone."""
        bar, spans = _ALONE.match(text), spans_of(rest, numbers)
        if bar is None or spans is None or plan.numbered or text.count(" [") > 1 or "e" in numbers[-1]:
            return None  # the exponent of another one may be cut
        at = len(text) - len(rest)
        free = [(bar.end(), at + spans[0][0])]
        found = [bar.span(1), bar.span(2), *((at + start, at + end) for start, end in spans)]
        return Again(partial(self._redrawn, plan), found, free, many=EpochRedraws(plan))

    def _redrawn(self, plan: Plan, cursor: Cursor, numbers: list[str], line: Line) -> Reading:
        values = values_of(plan, numbers[2:])
        return self._draw(cursor, int(numbers[0]), int(numbers[1]), values, line.mark)

    def _draw(
        self, cursor: Cursor, batch: int, total: int, values: Values, mark: Mark, *, told: bool = True
    ) -> Reading:
        """Takes a redraw in; `told`: it tells how many batches there are."""
        cursor.flow.open = batch < total
        reading, bars = Reading(), cursor.of(EpochBars)
        epoch = cursor.flow.epoch
        if values and told and epoch is not None:
            values = self._of_part(bars, batch, total, values, reading)
        if values and (epoch is not None or batch == total):
            self.hold(bars, Held(values, epoch, "epoch", mark, batch, total), reading)
        elif values and len(bars.drawn) < _MOST_DRAWN:
            bars.drawn.append(Held(values, batch, "step", mark, batch, total))
        elif values:
            self.log.leave_out("redraws of a bar of no epoch", mark)
        return reading

    def _of_part(self, bars: EpochBars, batch: int, total: int, values: Values, reading: Reading) -> Values:
        """The values by names that tell an evaluation's bar, which ends that of the training."""
        if not bars.evaluates(total):
            bars.trained = total if batch == total else bars.trained
            return values
        if bars.newest is not None and bars.newest.total == bars.trained:
            self._flush(bars, reading)
        return [(name if split_of(name) else f"test_{name}", value) for name, value in values]

    def enter(self, cursor: Cursor, epoch: int, reading: Reading) -> None:
        """A heading names the epoch: a full bar above the first heading was of the epoch before, one of this
        epoch is over."""
        bars = cursor.of(EpochBars)
        held, bars.trained = bars.newest, 0
        if held is not None and held.n == held.total:
            if held.step is None:
                held.step = max(0, epoch - 1)
            self._flush(bars, reading)

    def close(self, cursor: Cursor) -> Reading | None:
        """The held redraw; where no epoch was named or came to its end, each batch that was drawn, too."""
        reading, bars = Reading(), cursor.of(EpochBars)
        if bars.newest is None and cursor.flow.epoch is None:
            for held in {(held.n, held.total): held for held in bars.drawn}.values():
                reading.add(held.values, held.step, held.axis, held.mark)
        bars.drawn.clear()
        self._flush(bars, reading)
        return reading

    def hold(self, bars: EpochBars, held: Held, reading: Reading) -> None:
        """Keeps the newest redraw of the epoch; one of another epoch lets the older one go."""
        before = bars.newest
        if before is not None and (
            before.step != held.step or held.n < before.n or _of_another_epoch(before, held)
        ):
            self._flush(bars, reading)
        bars.newest = held

    @staticmethod
    def _flush(bars: EpochBars, reading: Reading) -> None:
        held, bars.newest = bars.newest, None
        if held is not None:
            reading.add(held.values, held.step, held.axis, held.mark)


def match(text: str) -> tuple[int, int, str] | None:
    """Batch, batches and the line without its bar; None when it is no such line."""
    text = _last_redraw(text)
    if "/" not in text[:16] or not (found := _DRAWN.match(bare := _FILL.sub("", text[:4000]))):
        return None
    batch = int(found.group(1))
    total = batch if found.group(2) == "Unknown" else int(found.group(2))
    rest = _CUT.sub("", bare[found.end() :])
    return batch, total, _record(rest) if batch == total else rest


def _last_redraw(text: str) -> str:
    """Redraws that lost the backspaces between them stand one after the other: the last full one."""
    if (first := _TOTAL.match(text)) is None:
        return text
    full = f"{first.group(1)}/{first.group(1)} ["
    return text[at:] if (at := text.rfind(full)) > first.end() else text


def _record(rest: str) -> str:
    """What a full bar tells, without what is left behind it of longer redraws that it was drawn over: their
    `ETA`, or its own names again. Keras writes four decimals, to which digits of theirs may be glued."""
    record = _RECORD.match(rest)
    behind = rest[record.end() :] if record else ""
    if record is None or not behind:
        return rest
    again = not {*_NAME.findall(record[0])}.isdisjoint(_NAME.findall(behind))
    return record[0] if again or "ETA" in behind else rest


def _of_another_epoch(before: Held, held: Held) -> bool:
    """Whether two full bars of no epoch are of two epochs: a redraw adds measures behind those that it
    repeats."""
    return (
        held.step is None and before.n == before.total and held.values[: len(before.values)] != before.values
    )
