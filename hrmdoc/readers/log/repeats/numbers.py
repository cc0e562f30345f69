"""The numbers of many lines of one shape by their places, as their readers ask for them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hrmdoc.readers.log.grammar.plan import Plan
from hrmdoc.readers.log.grammar.position import NONE
from hrmdoc.readers.log.grammar.values import number
from hrmdoc.readers.log.grammar.words import RESTARTS
from hrmdoc.readers.log.repeats.columns import Bools, Columns, Floats, Form, Ints, form_of
from hrmdoc.readers.log.repeats.layout import Layout


def forms_of(line: bytes, runs: list[tuple[int, int]], layout: Layout) -> list[Form | float] | None:
    """How the numbers of a line are written, with those that are constant; None where one is of no known
    form.

    Args:
        line: the line, or what it stands in.
        runs: where the line's runs of digits start and end in it.
        layout: of its shape.
    """
    forms: list[Form | float] = []
    for first, last, before, behind in layout.numbers:
        text = line[runs[first][0] - before : runs[last][1] + behind].decode("latin-1")
        form = form_of(text, first)
        if (
            form is None
            or sum(run is not None for run in (form.whole, form.part, form.power)) != last - first + 1
        ):
            return None
        forms.append(form)
    for place, text in layout.constants:
        try:
            forms.insert(place, number(text))
        except ValueError:
            return None
    return forms


class Placed(Struct):
    """Positions of many lines, each column of shape [lines] or None where lines of the shape do not say."""

    epoch: Ints | None = None
    step: Ints | None = None
    total: Ints | None = None
    restarts: bool | None = None
    epochs: Ints | None = None

    def of(self, chosen: Bools | slice) -> Placed:
        """Those of some of the lines."""
        epoch, step, total, epochs = (
            None if column is None else column[chosen]
            for column in (self.epoch, self.step, self.total, self.epochs)
        )
        return Placed(epoch, step, total, self.restarts, epochs)

    def totals(self) -> list[tuple[str, Ints]]:
        """Facts that the totals of the counters state, see `totals_of`."""
        found = [] if self.epochs is None else [("run.epochs", self.epochs)]
        if self.total is not None and self.restarts:
            found.append(("run.steps_per_epoch", self.total))
        elif self.total is not None and self.epoch is None:
            found.append(("run.total_steps", self.total))
        return found


class Numbers:
    """Numbers by their places.

    Attributes:
        count: how many lines there are.
        exact: which of them hold numbers of the usual size, shape [lines].
    """

    def __init__(self, columns: Columns, forms: list[Form | float], count: int) -> None:
        self._columns, self._forms = columns, forms
        self.count = count
        self.exact: Bools = np.ones(count, np.bool_)

    def __len__(self) -> int:
        return len(self._forms)

    def constant(self, place: int) -> bool:
        """Whether the number in a place is the same word on all lines."""
        return isinstance(self._forms[place], float)

    def floats(self, place: int) -> Floats:
        """The numbers in a place."""
        form = self._forms[place]
        if isinstance(form, float):
            return np.full(self.count, form)
        return self._columns.floats(form)

    def whole(self, place: int) -> Ints | None:
        """The same as integers; None where they are written otherwise."""
        form = self._forms[place]
        if isinstance(form, float) or not form.counts or form.whole is None:
            return None
        values, digits = self._columns.whole(form.whole)
        self.exact &= digits >= 0
        return values

    def placed(self, plan: Plan, first: int = 0) -> Placed:
        """The positions that the counters of a plan give, see `position_of`; its numbers stand from place
        `first` on."""
        placed = Placed()
        for counter in plan.counters:
            value = self.whole(first + counter.at)
            if value is None:
                continue
            total = None if counter.total is None else self.whole(first + counter.total)
            if counter.kind == "epoch":
                placed.epoch, placed.epochs = value, total
            elif placed.step is None or (
                RESTARTS.get(counter.kind) is False and placed.restarts is not False
            ):
                placed.step, placed.total = value, total
                placed.restarts = RESTARTS.get(counter.kind)
        return placed


def or_none(column: Ints | None, count: int) -> Ints:
    """A column, with `NONE` for one that is not there."""
    return np.full(count, NONE) if column is None else column
