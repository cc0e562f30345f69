"""The places of the training loop on which other things hang: faults, profiler, watchdog, journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from ..faults.base import Fault
from ..model.step import Batch
from ..rundir.tb import Row
from ..state.state import TrainState


class Hook:
    """Something that hangs on the loop. Each default changes nothing."""

    def begin(self) -> None:
        """Before the first step."""

    def before_step(self, step: int) -> None:
        """`step` is about to be taken."""

    def rate(self, step: int, lr: float) -> float:
        """The learning rate that the schedule asks for."""
        del step
        return lr

    def batch(self, step: int, batch: Batch) -> Batch:
        """A micro-batch, on its way to the model."""
        del step
        return batch

    def after_step(self, step: int) -> None:
        """`step` was taken."""

    def measured(self, rows: Sequence[Row], *, line: bool) -> None:
        """The metrics of the steps since the last time came from the device; with `line` they are due."""

    def logged(self, step: int) -> None:
        """What was measured up to `step` is written, and all of it are numbers."""

    def evaluated(self, values: Mapping[str, float], seconds: float) -> None:
        """The test split was scored."""

    def finish(self, step: int) -> None:
        """After the last step of a loop that ended in good order."""

    def close(self) -> None:
        """The loop has ended, however it did."""


class Hooks(Hook):
    """Several hooks, called one after the other; within the block they are begun and not yet closed."""

    def __init__(self, *hooks: Hook) -> None:
        self._hooks = hooks

    def __enter__(self) -> Self:
        for hook in self._hooks:
            hook.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.close()

    def before_step(self, step: int) -> None:
        for hook in self._hooks:
            hook.before_step(step)

    def rate(self, step: int, lr: float) -> float:
        for hook in self._hooks:
            lr = hook.rate(step, lr)
        return lr

    def batch(self, step: int, batch: Batch) -> Batch:
        for hook in self._hooks:
            batch = hook.batch(step, batch)
        return batch

    def after_step(self, step: int) -> None:
        for hook in self._hooks:
            hook.after_step(step)

    def measured(self, rows: Sequence[Row], *, line: bool) -> None:
        for hook in self._hooks:
            hook.measured(rows, line=line)

    def logged(self, step: int) -> None:
        for hook in self._hooks:
            hook.logged(step)

    def evaluated(self, values: Mapping[str, float], seconds: float) -> None:
        for hook in self._hooks:
            hook.evaluated(values, seconds)

    def finish(self, step: int) -> None:
        for hook in self._hooks:
            hook.finish(step)


class FaultHook(Hook):
    """A fault of the lab, in the steps of the loop."""

    def __init__(self, fault: Fault, state: TrainState) -> None:
        self._fault, self._state = fault, state

    def before_step(self, step: int) -> None:
        del step
        self._fault.before_step(self._state)

    def rate(self, step: int, lr: float) -> float:
        return self._fault.lr(step, lr)

    def batch(self, step: int, batch: Batch) -> Batch:
        return self._fault.batch(step, batch)
