"""The interface of a format: one way in which programs print what they measure.

A format is a module of this folder with a class derived from `Format`, and a sample beside it that bears
the module's name. `parse` looks at one line. What has to wait for later lines waits in the format's own
`State`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Literal

from msgspec import Struct, field

from hrmdoc.readers.log.lines.scan import METRIC
from hrmdoc.readers.log.state.cursor import Cursor, Line, Log
from hrmdoc.readers.log.state.sink import Mark, Sink
from hrmdoc.record.records import Axis, Record

Values = list[tuple[str, float]]
Span = tuple[int, int]


class Measured(Struct):
    """Values that belong to one place."""

    values: Iterable[tuple[str, float]]
    step: int | None
    axis: Axis
    mark: Mark
    precision: int = 1


class Many(Struct, frozen=True):
    """What one needs to know to read many lines at once that differ in nothing but digits: what `repeats`
    reads by column is of a class derived from this.

    Attributes:
        TAKEN: a format takes such lines; others may count for what is open around them.
    """

    TAKEN: ClassVar[bool] = True


class Silent(Many, frozen=True):
    """Lines that give nothing."""

    TAKEN: ClassVar[bool] = False


class Again(Struct):
    """How to read the next line that differs from this one in nothing but digits.

    Attributes:
        read: gives the reading of such a line, from its numbers.
        numbers: where the numbers stand in the line's text, in order.
        free: where digits stand that have no meaning. All others must be the same.
        text: the line's text is needed, too.
        many: how all such lines of a block are read at once, where that is known.
    """

    read: Callable[[Cursor, list[str], Line], Reading | None]
    numbers: list[Span]
    free: list[Span] = field(default_factory=list)
    text: bool = False
    many: Many | None = None


class Reading(Struct):
    """What a line gave. One that gives nothing was understood all the same, and waits or is repeated.

    Attributes:
        found: values with their places.
        records: events and facts.
        rest: what follows on the line and is to be read as one by itself.
        again: how lines like it are read; None where each needs a look of its own.
        left: what others may still find on the line: `facts` and no metrics; the whole `line`, where it only
            ended what was held.
    """

    found: list[Measured] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    rest: str = ""
    again: Again | None = None
    left: Literal["nothing", "facts", "line"] = "nothing"

    def add(
        self,
        values: Iterable[tuple[str, float]],
        step: int | None,
        axis: Axis,
        mark: Mark,
        precision: int = 1,
    ) -> None:
        """Adds values; `step` None means that the log does not say where they belong."""
        self.found.append(Measured(values, step, axis, mark, precision))

    @classmethod
    def of_curves(cls, curves: Iterable[tuple[str, list[float], Mark]]) -> Reading:
        """Whole curves, a value an epoch."""
        reading = cls()
        for name, values, mark in curves:
            for epoch, value in enumerate(values):
                reading.add([(name, value)], epoch, "epoch", mark)
        return reading

    def give(self, sink: Sink) -> None:
        """Hands points and records over."""
        for found in self.found:
            sink.points(found.values, found.step, found.axis, found.mark, found.precision)
        for record in self.records:
            sink.record(record)


class Held(Struct):
    """Values that wait for a later line to show their place or their worth."""

    values: Values
    step: int | None
    axis: Axis
    mark: Mark
    n: int = 0
    total: int = 0


class Format:
    """One instance reads all ranks of one log.

    Attributes:
        ORDER: formats with a lower one are asked first; among equals the one that understood a line last.
        KINDS: what a line must be about, see `scan`, unless something of several lines is open.
        MARKS: of which a line must hold one where nothing is open; None for formats that look at every line.
    """

    ORDER: ClassVar[int] = 50
    KINDS: ClassVar[int] = METRIC
    MARKS: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, log: Log) -> None:
        self.log = log

    def parse(self, line: Line, cursor: Cursor) -> Reading | None:
        """What the line gives; None when it is not of this format."""
        raise NotImplementedError

    def passes(self, line: Line, cursor: Cursor) -> bool:
        """Whether a line that gave nothing, and all that differ from it in the digits of their numbers alone,
        are none of this format and change nothing of what it knows: they need not be shown to it. Asked
        where nothing is open, and kept as long as the mode is the same."""
        del line, cursor
        return False

    def missed(self, line: Line, cursor: Cursor) -> None:
        """A line about metrics that no format understood: it may head what follows, or end what is open."""

    def close(self, cursor: Cursor) -> Reading | None:
        """What waited for lines of one rank that do not come any more."""
        del cursor
        return None

    def finish(self) -> Reading | None:
        """What waited for the end of the log, once all ranks are closed."""
        return None
