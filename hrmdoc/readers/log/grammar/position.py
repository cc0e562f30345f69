"""Where a run is: epoch, batch and step as the lines show them, made into one axis.

A batch counter that restarts with every epoch becomes `epoch * batches + batch`. Whether it restarts is seen,
not assumed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hrmdoc.record.records import Axis

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
NONE = int(np.iinfo(np.int64).min)
"""Stands in arrays for what a line does not say."""


_FEW = 4
"""Lines between two changes, on average, that are as soon placed one by one."""


class Position(NamedTuple):
    """What the counters of one line say; None where a line is silent."""

    epoch: int | None = None
    step: int | None = None
    total: int | None = None
    restarts: bool | None = None
    epochs: int | None = None

    @property
    def silent(self) -> bool:
        """Whether no counter was on the line."""
        return self.epoch is None and self.step is None


class Positions(NamedTuple):
    """Positions of many lines in order, arrays of shape [n] with `NONE` for what is not said; `restarts`
    holds 1, 0 and `NONE`."""

    epoch: Ints
    step: Ints
    total: Ints
    restarts: Ints

    def of(self, chosen: slice) -> Positions:
        """Those of some of the lines."""
        return Positions(*(column[chosen] for column in self))

    def each(self) -> list[Position]:
        """The same one by one."""
        columns = ([None if value == NONE else value for value in column.tolist()] for column in self)
        return [
            Position(epoch, step, total, None if restarts is None else bool(restarts))
            for epoch, step, total, restarts in zip(*columns, strict=True)
        ]


class Flow(Struct):
    """The state of one rank's log.

    Attributes:
        step: the last global step; None before the first.
        epoch: the last epoch, as written.
        first: the first global step.
        open: the last line with a position stands in the middle of an epoch, or only begins one.
        entered: how often another epoch than that of the line before was named.
        lowest: the lowest epoch so far, as written.
    """

    step: int | None = None
    first: int | None = None
    epoch: int | None = None
    open: bool = False
    entered: int = 0
    lowest: int | None = None
    _base: int | None = None
    _seen_epoch: int | None = None
    _last: int = -1
    _stride: int = 0
    _most: int = 0
    _offset: int = 0
    _continues: bool = False
    _restarted: bool = False
    _laps: int = 0
    _trainings: int = 0

    def enter_epoch(self, epoch: int, alone: bool = False) -> None:
        """A line named the epoch. One that is `alone` in its training is counted: a loop around it calls for
        many such."""
        self.entered += self.epoch is None or alone or epoch != self.epoch
        self.epoch = epoch + self._trainings if alone else epoch
        self.lowest = epoch if self.lowest is None else min(epoch, self.lowest)
        self._trainings += alone

    @property
    def begun(self) -> int | None:
        """How many epochs had begun, at most: a log that begins in a later one does not tell whether they
        count from 0."""
        if self.epoch is None or self.lowest is None:
            return None
        return self.epoch + (self.lowest != 1)

    def place(self, position: Position) -> tuple[int, Axis]:
        """The step and the axis of a line with counters; moves on to it."""
        self.open = (position.total or 0) > (position.step or 0) + 1 and position.step is not None
        if position.epoch is not None:
            self.enter_epoch(position.epoch)
        if position.step is None:
            return (self.epoch or 0, "epoch") if self.step is None else (self.step, "step")
        if position.restarts is False:
            self.step = position.step
        elif self.epoch is None:
            self.step = self._lap(position.step, position.total) if position.restarts else position.step
        else:
            self.step = self._within_epoch(position.step, position.total, self.epoch, bool(position.restarts))
        self.first = self.step if self.first is None else self.first
        return self.step, "step"

    def place_all(self, positions: Positions) -> Ints:
        """The steps of many lines in order, none of which may come before the first step; moves on to the
        last. Shape [n]."""
        if self.epoch is not None or (positions.epoch != NONE).any():
            return self._place_runs(positions)
        said = positions.step != NONE
        steps = positions.step.copy()
        laps = np.flatnonzero(said & (positions.restarts == 1))
        if len(laps):
            steps[laps] = self._laps_of(steps[laps], positions.total[laps])
        if not said.all():
            before = np.maximum.accumulate(np.where(said, np.arange(len(steps)), -1))
            steps = np.where(before < 0, self.step or 0, steps[before])
        if self.first is None and said.any():
            self.first = int(steps[np.argmax(said)])
        step, total = int(positions.step[-1]), int(positions.total[-1])
        self.open = bool(said[-1]) and max(total, 0) > step + 1
        self.step = int(steps[-1])
        return steps

    def _place_runs(self, positions: Positions) -> Ints:
        """The same where epochs are named: lines of one epoch, of which all show a step or none, stand as far
        from each other as they say."""
        said, steps = positions.step != NONE, np.empty(len(positions.step), np.int64)
        starts = _changes(positions.epoch, positions.total, positions.restarts, said)
        if _FEW * len(starts) > len(steps):
            steps[:] = [self.place(position)[0] for position in positions.each()]
            return steps
        for begin, end in pairwise([*starts.tolist(), len(steps)]):
            run = positions.of(slice(begin, end))
            first = run.of(slice(0, 1)).each()[0]
            steps[begin] = self.place(first)[0]
            if end - begin > 1 and self.epoch is None:
                steps[begin + 1 : end] = [self.place(one)[0] for one in run.of(slice(1, None)).each()]
            elif end - begin > 1:
                steps[begin:end] = steps[begin] + (run.step - run.step[0] if first.step is not None else 0)
                self._come_to(first, run.step, int(steps[end - 1]))
        return steps

    def _come_to(self, first: Position, shown: Ints, step: int) -> None:
        """Moves on from the first of some lines of one epoch to the last one, which stands at a step."""
        if first.step is None:
            return
        last = int(shown[-1])
        self.open, self.step = (first.total or 0) > last + 1, step
        if first.restarts is not False:
            self._last, self._most = last, max(self._most, int(shown.max()))

    def place_each(self, positions: Positions, counting: Bools, keeping: Bools) -> tuple[Ints, Bools]:
        """The same for lines some of which show no step, where `counting` says which of them are a step each,
        and `keeping` which are so, or stand for their epoch, whatever the step is; and which do the latter.
        Each of shape [n]."""
        steps, by_epoch = np.empty(len(counting), np.int64), np.zeros(len(counting), np.bool_)
        each = zip(positions.each(), counting.tolist(), keeping.tolist(), strict=True)
        for at, (position, counts, keeps) in enumerate(each):
            if position.silent and self.step is None and self.epoch is None:
                steps[at] = NONE
            elif position.step is None and (keeps or self.step is None):
                if position.epoch is not None:
                    self.enter_epoch(position.epoch)
                if counts:
                    self.step = steps[at] = 0 if self.step is None else self.step + 1
                else:
                    steps[at], by_epoch[at] = self.epoch or 0, True
            else:
                steps[at] = self.place(position)[0]
        return steps, by_epoch

    def count(self, epochs: Ints) -> Ints:
        """The steps of lines in order that are a step each, whether they show epochs or not. Shape [n]."""
        for at in np.flatnonzero(np.concatenate(([True], epochs[1:] != epochs[:-1]))).tolist():
            if epochs[at] != NONE:
                self.enter_epoch(int(epochs[at]))
        steps: Ints = (-1 if self.step is None else self.step) + 1 + np.arange(len(epochs))
        self.step = int(steps[-1])
        return steps

    def _laps_of(self, steps: Ints, totals: Ints) -> Ints:
        """What `_lap` gives for many lines in order."""
        before = np.concatenate(([self._last], steps[:-1]))
        strides = np.where(before < 0, 0, np.maximum(steps - before, 0))
        reached = before + np.concatenate(([self._stride], strides[:-1]))
        ended = (totals != NONE) & (steps < before) & (reached >= totals)
        laps = self._laps + np.cumsum(ended)
        self._last, self._stride, self._laps = int(steps[-1]), int(strides[-1]), int(laps[-1])
        placed: Ints = steps + laps * np.maximum(totals, 0)
        return placed

    def _lap(self, step: int, total: int | None) -> int:
        """Batches of epochs that bear no number: a lap that its next line would complete begins the next
        one."""
        if total is not None and step < self._last and self._last + self._stride >= total:
            self._laps += 1
        self._stride = 0 if self._last < 0 else max(step - self._last, 0)
        self._last = step
        return step + self._laps * (total or 0)

    def _within_epoch(self, step: int, total: int | None, epoch: int, restarts: bool) -> int:
        if self._base is None or epoch < self._base:
            self._base = min(epoch, 1)
        if self._seen_epoch is not None and epoch != self._seen_epoch:
            if epoch > self._seen_epoch and not restarts:
                self._restarted |= step <= self._last
                self._continues = step > self._last >= 0 and not self._restarted
            if self._continues:
                pass
            elif epoch > self._seen_epoch:
                self._offset += self._most * (epoch - self._seen_epoch)
            else:
                self._offset = (epoch - (self._base or 0)) * self._most
            self._most = 0
        self._seen_epoch, self._last = epoch, step
        self._most = max(self._most, step)
        if self._continues:
            return step
        if total is not None:
            return (epoch - (self._base or 0)) * total + step
        return self._offset + step


def _changes(*columns: NDArray[Any]) -> Ints:
    """Where one of some columns has another value than before, and 0."""
    changed = np.zeros(len(columns[0]), np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)
