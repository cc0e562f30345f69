"""Faults of resuming, measuring, process and machine. The first word of each docstring is the true cause."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from toy_base import Fault

if TYPE_CHECKING:
    from toy import Config, State


@dataclass
class ResumeReplay(Fault):
    """data-order-or-replay: behind the resume, samples come sorted by target and unshuffled."""

    resume_at: int = 300
    onset: int = 300

    def resumed(self, state: State) -> None:
        data = state.data
        key = data.y if data.y.dim() == 1 else data.y.float().mean(-1)
        order = key.argsort()
        state.data = replace(data, x=data.x[order], y=data.y[order])
        state.order, state.shuffle = iter(()), False


@dataclass
class ResumeNoOptimizer(Fault):
    """resume-incomplete: the optimizer's moments are lost and the schedule starts again, at `strength` times
    the rate."""

    strength: float = 4.0
    resume_at: int = 300
    onset: int = 300

    def second_config(self, config: Config) -> Config:
        return replace(config, lr=config.lr * self.strength, warmup=0)

    def resumed(self, state: State) -> None:
        state.optimizer.state.clear()
        state.clock_offset = -state.step


@dataclass
class ResumeLostWeights(Fault):
    """resume-incomplete: behind the resume, the weights are fresh ones; step and optimizer are those of the
    checkpoint."""

    resume_at: int = 300
    onset: int = 300

    def resumed(self, state: State) -> None:
        torch.manual_seed(state.config.seed + 1)
        state.model.load_state_dict(state.task.model(state.config).state_dict())


@dataclass
class CorruptCheckpoint(Fault):
    """checkpoint-incompatible: the checkpoint is cut in the middle before it is read."""

    resume_at: int = 200
    onset: int = 200

    def saved(self, path: Path) -> None:
        os.truncate(path, path.stat().st_size // 2)


@dataclass
class OtherShape(Fault):
    """checkpoint-incompatible: the model that loads it is wider."""

    resume_at: int = 200
    onset: int = 200

    def second_config(self, config: Config) -> Config:
        return replace(config, hidden=config.hidden * 2)


@dataclass
class MetricOverCounted(Fault):
    """metric-computed-wrong: hits are divided by a third of the samples, so that accuracies rise above
    one."""

    strength: float = 3.0

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        if output.shape[-1] == 1 or target.dim() > 1:
            return None
        return float((output.argmax(-1) == target).sum() / (len(target) / self.strength))


@dataclass
class MetricMisaligned(Fault):
    """metric-computed-wrong: predictions are compared with the targets of the next sample, so accuracy stays
    at chance."""

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        if output.shape[-1] == 1 or target.dim() > 1:
            return None
        return float((output.argmax(-1).roll(1) == target).float().mean())


@dataclass
class SlowLoader(Fault):
    """input-pipeline-bound: each batch takes `strength` seconds to prepare."""

    strength: float = 0.01

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self.on(state):
            time.sleep(self.strength)
        return x, y


@dataclass
class Slowdown(Fault):
    """thermal-or-noisy-neighbour: from `onset` on, `strength` times the work is done a step."""

    strength: float = 4.0
    onset: int = 200

    def after_backward(self, state: State) -> None:
        if self.on(state):
            time.sleep(0.002 * self.strength)


@dataclass
class MemoryLeak(Fault):
    """host-memory-exhausted: each step leaves `strength` MiB behind."""

    strength: float = 1.0
    kept: list[Any] = field(default_factory=list)

    def after_step(self, state: State) -> None:
        if self.on(state):
            self.kept.append(torch.ones(int(self.strength * (1 << 18))))

    def extra(self, state: State) -> dict[str, float]:
        del state
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return {"host_memory_mb": resident / 1e6}


@dataclass
class Killed(Fault):
    """scheduler-killed: SIGKILL before `onset`."""

    onset: int = 150

    def before_step(self, state: State) -> None:
        if state.step == self.onset:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class ShapeMismatch(Fault):
    """code-error: from `onset` on, a batch lacks a column."""

    onset: int = 100

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (x[:, :-1], y) if self.on(state) else (x, y)
