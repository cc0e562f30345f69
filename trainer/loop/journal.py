"""From fetched metrics to scalars, log lines and speed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import psutil
import torch

from ..rundir.ranklog import rank_line
from ..rundir.tb import Row
from .hooks import Hook
from .job import Job

GIB = 1 << 30


class Journal(Hook):
    """Turns fetched metrics into scalars and log lines, with the time that the steps took."""

    def __init__(self, job: Job, examples: int) -> None:
        self.job, self.examples = job, examples
        self.latest: dict[str, float] = {}
        self.lm_loss: float | None = None
        self._since, self._steps = time.perf_counter(), 0
        self._process = psutil.Process()
        self._first: int | None = None

    def computing(self, step: int) -> AbstractContextManager[object]:
        """What a micro-batch is computed within. The first two steps of a compiled model, of which one starts
        from no carry, are compiled and take minutes: heartbeats come from a thread then."""
        self._first = step if self._first is None else self._first
        compiles = self.job.plan.compile_backend is not None and step < self._first + 2
        return self.job.run.busy(self.job.state.step) if compiles else nullcontext()

    def after_step(self, step: int) -> None:
        del step
        self._steps += 1

    def evaluated(self, values: Mapping[str, float], seconds: float) -> None:
        self.latest.update(values)
        self._since += seconds  # no training step used them

    def measured(self, rows: Sequence[Row], *, line: bool) -> None:
        run, world, speed = self.job.run, self.job.world, self._speed()
        last = rows[-1]._replace(values={**rows[-1].values, **speed})
        run.scalars.write([*rows[:-1], last])
        self.latest.update(last.values)
        loss = last.values["train/lm_loss"]
        self.lm_loss = loss if math.isfinite(loss) else self.lm_loss
        if line and world.chief:
            run.log(self._line(rows, speed))
        if line and world.size > 1:
            run.append(f"rank{world.rank}.log", rank_line(last.step, self.job.total_steps, last.values))
        self.job.progress(last.step, last.values)

    def _speed(self) -> dict[str, float]:
        now = time.perf_counter()
        seconds, steps = max(now - self._since, 1e-9), max(self._steps, 1)
        values = {
            "perf/step_time_s": seconds / steps,
            "perf/examples_per_second": self.examples * steps / seconds,
            **{f"perf/{name}_time_s": spent / steps for name, spent in self.job.world.clock.take().items()},
            "perf/host_memory_gib": self._process.memory_info().rss / GIB,
        }
        if self.job.plan.device == "cuda":
            values["perf/gpu_memory_gib"] = torch.cuda.max_memory_allocated() / GIB
        self._since, self._steps = now, 0
        return values

    def _line(self, rows: Sequence[Row], speed: dict[str, float]) -> str:
        values = rows[-1].values
        parts = [
            f"step {rows[-1].step}/{self.job.total_steps}",
            f"lm_loss {values['train/lm_loss']:.4f}",
            f"grad_norm {values['train/grad_norm']:.4g}",
            f"lr {values['train/lr']:.1e}",
        ]
        halted = [found.values for found in rows if "train/accuracy" in found.values]
        count = sum(found["train/count"] for found in halted)
        for name, key in (
            ("accuracy", "train/accuracy"),
            ("exact", "train/exact_accuracy"),
            ("steps", "train/steps"),
        ):
            if count:
                mean = sum(found[key] * found["train/count"] for found in halted) / count
                parts.append(f"{name} {mean:.2f}")
        return " | ".join([*parts, f"{1 / speed['perf/step_time_s']:.1f} it/s"])
