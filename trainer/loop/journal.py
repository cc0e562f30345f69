"""From fetched metrics to scalars, log lines and speed."""

from __future__ import annotations

import math
import time

import psutil
import torch

from ..rundir.ranklog import rank_line
from ..rundir.tb import Row
from .job import Job
from .meter import finite

GIB = 1 << 30


class Journal:
    """Turns fetched metrics into scalars and log lines, with the time that the steps took."""

    def __init__(self, job: Job, examples: int) -> None:
        self.job, self.examples = job, examples
        self.latest: dict[str, float] = {}
        self.lm_loss: float | None = None
        self._since, self._steps = time.perf_counter(), 0
        self._process = psutil.Process()
        self._first: int | None = None

    def compiling(self, step: int) -> bool:
        """Whether `step` is one in which a compiled model is compiled: the first two, of which one starts
        from no carry."""
        self._first = step if self._first is None else self._first
        return self.job.plan.compile_backend is not None and step < self._first + 2

    def count_step(self) -> None:
        """Counts one step."""
        self._steps += 1

    def exclude(self, seconds: float) -> None:
        """Time that no training step used."""
        self._since += seconds

    def write(self, steps: list[Row], *, line: bool) -> int | None:
        """Writes every step's scalars. Returns the first step whose loss or gradient is no number."""
        if not steps:
            return None
        run, speed = self.job.run, self._speed()
        last = steps[-1]._replace(values={**steps[-1].values, **speed})
        run.scalars.write([*steps[:-1], last])
        self.latest.update(last.values)
        loss = last.values["train/lm_loss"]
        self.lm_loss = loss if math.isfinite(loss) else self.lm_loss
        if line and self.job.world.chief:
            run.log(self._line(steps, speed))
        if line and self.job.world.size > 1:
            run.append(
                f"rank{self.job.world.rank}.log", rank_line(last.step, self.job.total_steps, last.values)
            )
        self.job.progress(last.step, last.values)
        # While a loss scale is searched for, gradients overflow as a matter of course; the scaler leaves
        # those steps out.
        gradient = not self.job.plan.scaler
        return next((found.step for found in steps if not finite(found.values, gradient=gradient)), None)

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

    def _line(self, steps: list[Row], speed: dict[str, float]) -> str:
        values = steps[-1].values
        parts = [
            f"step {steps[-1].step}/{self.job.total_steps}",
            f"lm_loss {values['train/lm_loss']:.4f}",
            f"grad_norm {values['train/grad_norm']:.4g}",
            f"lr {values['train/lr']:.1e}",
        ]
        halted = [found.values for found in steps if "train/accuracy" in found.values]
        rows = sum(found["train/count"] for found in halted)
        for name, key in (
            ("accuracy", "train/accuracy"),
            ("exact", "train/exact_accuracy"),
            ("steps", "train/steps"),
        ):
            if rows:
                mean = sum(found[key] * found["train/count"] for found in halted) / rows
                parts.append(f"{name} {mean:.2f}")
        return " | ".join([*parts, f"{1 / speed['perf/step_time_s']:.1f} it/s"])
