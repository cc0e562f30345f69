"""Metrics of training steps, kept on the device until the log interval, then fetched in one transfer.

So a GPU is not waited for at each step, and still every step is written.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

import torch
from torch import Tensor

from ..model.step import Sums
from ..parallel.world import World
from ..rundir.tb import Row

LOSSES = {name: f"train/{name}" for name in ("lm_loss", "q_halt_loss", "q_continue_loss")}
OVER_HALTED = {name: f"train/{name}" for name in ("accuracy", "exact_accuracy", "q_halt_accuracy", "steps")}


def finite(values: Mapping[str, float], *, gradient: bool = True) -> bool:
    """Whether the losses of a step, and the norm of its gradient if asked for, are numbers."""
    checked = [values.get(name, 0.0) for name in LOSSES.values()]
    return math.isfinite(sum(checked) + (values.get("train/grad_norm", 0.0) if gradient else 0.0))


def first_bad(rows: Iterable[Row], *, gradient: bool) -> int | None:
    """The first step whose losses, or gradient if asked for, are no numbers."""
    return next((row.step for row in rows if not finite(row.values, gradient=gradient)), None)


@dataclass
class Meter:
    """Collects sums of `compute_loss` and turns them into HRM's metrics.

    Losses are divided by the examples of the step; the rest is a mean over the rows that halted in the step,
    and is left out when none did (HRM logs zeros then, which are no measurements).
    """

    examples: int
    world: World = field(default_factory=World)
    _names: tuple[str, ...] = ()
    _sums: Tensor | None = None
    _pending: list[tuple[int, float, dict[str, float], Tensor, Tensor, Tensor | None]] = field(
        default_factory=list
    )

    def add(self, sums: Sums) -> None:
        """Adds the sums of one micro-batch."""
        self._names = sums.names
        self._sums = sums.values if self._sums is None else self._sums + sums.values

    def close_step(
        self, step: int, grad_norm: Tensor, host: dict[str, float], moved: Tensor | None = None
    ) -> None:
        """Ends a step.

        Args:
            host: what is known without the device, such as the learning rate.
            moved: as `Movement.after` gives it, where the step was measured.
        """
        assert self._sums is not None, "a step has at least one micro-batch"
        self._pending.append((step, time.time(), host, self._sums, grad_norm.detach(), moved))
        self._sums = None

    def fetch(self) -> list[Row]:
        """All steps since the last call, summed over the processes. The one place where the host waits for
        the device."""
        if not self._pending:
            return []
        steps, times, hosts, sums, norms, moved = zip(*self._pending, strict=True)
        self._pending.clear()
        dtype = sums[0].dtype
        measured = [found.to(dtype) for found in moved if found is not None]
        numbers = iter(
            self.world.add_up(torch.cat((*sums, torch.stack(norms).to(dtype), *measured))).tolist()
        )
        metrics = [self._metrics(islice(numbers, len(self._names)), host) for host in hosts]
        for values, norm in zip(metrics, islice(numbers, len(steps)), strict=True):
            values["train/grad_norm"] = norm / self.world.size  # it is the same everywhere
        for values, found in zip(metrics, moved, strict=True):
            if found is not None:
                weights, update = (math.sqrt(square) for square in islice(numbers, 2))
                values["train/param_norm"] = weights
                values["train/update_ratio"] = update / weights if weights else math.inf
        return [Row(*row) for row in zip(steps, times, metrics, strict=True)]

    def forget(self) -> None:
        """Drops what was not fetched, as after a rollback."""
        self._pending.clear()
        self._sums = None

    def _metrics(self, numbers: Iterable[float], host: dict[str, float]) -> dict[str, float]:
        sums = dict(zip(self._names, numbers, strict=True))
        count = sums["count"]
        values = {tag: sums[name] / self.examples for name, tag in LOSSES.items() if name in sums}
        if count > 0:
            for name, tag in OVER_HALTED.items():
                values[tag] = sums[name] / count
        values["train/count"] = count
        values.update(host)
        return values
