"""Where a run is: epoch, batch and step as the lines show them, made into one axis.

A batch counter that restarts with every epoch becomes `epoch * batches + batch`. Whether it restarts is seen,
not assumed.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from hrmdoc.record.records import Axis


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


class Flow(Struct):
    """The state of one rank's log.

    Attributes:
        step: the last global step; None before the first.
        epoch: the last epoch, as written.
        first: the first global step.
        open: the last line with a position stands in the middle of an epoch, or only begins one.
    """

    step: int | None = None
    first: int | None = None
    epoch: int | None = None
    open: bool = False
    _lowest: int | None = None
    _base: int | None = None
    _seen_epoch: int | None = None
    _last: int = -1
    _most: int = 0
    _offset: int = 0
    _continues: bool = False
    _laps: int = 0
    _trainings: int = 0

    def enter_epoch(self, epoch: int, alone: bool = False) -> None:
        """A line named the epoch. One that is `alone` in its training is counted: a loop around it calls for
        many such."""
        self.epoch = epoch + self._trainings if alone else epoch
        self._lowest = epoch if self._lowest is None else min(epoch, self._lowest)
        self._trainings += alone

    @property
    def begun(self) -> int | None:
        """How many epochs had begun, at most: a log that begins in a later one does not tell whether they
        count from 0."""
        if self.epoch is None or self._lowest is None:
            return None
        return self.epoch + (self._lowest != 1)

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

    def _lap(self, step: int, total: int | None) -> int:
        """Batches of epochs that bear no number: a complete lap begins the next one."""
        if total is not None and step < self._last and self._last >= total:
            self._laps += 1
        self._last = step
        return step + self._laps * (total or 0)

    def _within_epoch(self, step: int, total: int | None, epoch: int, restarts: bool) -> int:
        if self._base is None or epoch < self._base:
            self._base = min(epoch, 1)
        if self._seen_epoch is not None and epoch != self._seen_epoch:
            if epoch > self._seen_epoch and not restarts:
                self._continues = step > self._last >= 0
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
