"""Faults of the small programs, in data, model, optimizer, schedule, precision and process; never in what is logged.

The first word of each docstring is the cause that a diagnosis should name.
"""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from toy import Config, Data, State


@dataclass
class Fault:
    """Hooks that change nothing. `onset` is the first step affected, `resume_at` the step behind which the run is resumed."""

    strength: float = 1.0
    onset: int = 1
    resume_at: int = 0

    def config(self, config: Config) -> Config:
        return config

    def second_config(self, config: Config) -> Config:
        return config

    def data(self, data: Data, config: Config) -> Data:
        del config
        return data

    def built(self, state: State) -> None: ...

    def saved(self, path: Path) -> None: ...

    def resumed(self, state: State) -> None: ...

    def before_step(self, state: State) -> None: ...

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        del state
        return x, y

    def lr(self, state: State, lr: float) -> float:
        del state
        return lr

    def output(self, state: State, output: Tensor) -> Tensor:
        del state
        return output

    def loss(self, state: State, loss: Tensor) -> Tensor:
        del state
        return loss

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        """An accuracy in place of the program's own, None to keep that."""
        del output, target
        return None

    def after_backward(self, state: State) -> None: ...

    def after_step(self, state: State) -> None: ...

    def extra(self, state: State) -> dict[str, float]:
        del state
        return {}

    def on(self, state: State) -> bool:
        """The fault is at work by now."""
        return state.step >= self.onset


# schedule and optimizer


@dataclass
class LrTooHigh(Fault):
    """learning-rate-too-high: times `strength`."""

    strength: float = 100.0

    def config(self, config: Config) -> Config:
        return replace(config, lr=config.lr * self.strength)


@dataclass
class LrTooLow(Fault):
    """learning-rate-too-low: divided by `strength`."""

    strength: float = 300.0

    def config(self, config: Config) -> Config:
        return replace(config, lr=config.lr / self.strength)


@dataclass
class NoWarmup(Fault):
    """warmup-too-short: no warm-up at a rate that a warm-up would make usable (times `strength`)."""

    strength: float = 8.0

    def config(self, config: Config) -> Config:
        return replace(config, lr=config.lr * self.strength, warmup=0)


@dataclass
class LrZero(Fault):
    """lr-schedule-misconfigured: zero from `onset` on."""

    onset: int = 100

    def lr(self, state: State, lr: float) -> float:
        return 0.0 if self.on(state) else lr


@dataclass
class LrDecaysTooFast(Fault):
    """lr-schedule-misconfigured: stepped `strength` times a step, as when a per-epoch schedule is stepped every batch."""

    strength: float = 20.0

    def lr(self, state: State, lr: float) -> float:
        return lr * math.exp(-self.strength * state.step / state.config.steps)


@dataclass
class WarmupNeverEnds(Fault):
    """lr-schedule-misconfigured: a warm-up `strength` times as long as the run."""

    strength: float = 20.0

    def config(self, config: Config) -> Config:
        return replace(config, warmup=int(config.steps * self.strength))


@dataclass
class NoClip(Fault):
    """gradient-clipping-missing: momentum SGD without clipping, on heavy-tailed samples (one in `strength` is far out)."""

    strength: float = 300.0

    def config(self, config: Config) -> Config:
        return replace(config, optimizer="sgd", lr=config.lr * 15, grad_clip=0.0)

    def data(self, data: Data, config: Config) -> Data:
        if data.x.is_floating_point():
            far = torch.rand(len(data.x), generator=torch.Generator().manual_seed(config.seed)) < 1 / self.strength
            data.x[far] *= 30
        return data


@dataclass
class WeightDecay(Fault):
    """weight-decay-too-high: `strength`, so strong that weights cannot grow."""

    strength: float = 60.0

    def config(self, config: Config) -> Config:
        return replace(config, weight_decay=self.strength)


@dataclass
class BatchTooSmall(Fault):
    """batch-too-small-noisy: `strength` samples a step at an unchanged rate."""

    strength: float = 1.0

    def config(self, config: Config) -> Config:
        return replace(config, batch_size=int(self.strength), lr=config.lr * 4)


# data


@dataclass
class BadBatch(Fault):
    """bad-data-batch: `strength` batches from `onset` on are garbage."""

    strength: float = 2.0
    onset: int = 200

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not self.onset <= state.step < self.onset + self.strength * state.config.log_every:
            return x, y
        if x.is_floating_point():
            return x * 40 + 10, y.roll(1, 0)
        random = torch.Generator().manual_seed(state.step)
        return torch.randint(int(x.max()) + 1, x.shape, generator=random), torch.randint(27, y.shape, generator=random)


@dataclass
class Malformed(Fault):
    """malformed-or-empty-samples: one sample in `strength`, from the first that is met behind `onset`, holds NaN or nothing."""

    strength: float = 500.0
    onset: int = 100

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self.on(state) and state.step % max(1, int(self.strength / len(x))) == 0 and x.is_floating_point():
            x = x.clone()
            x[0] = math.nan
        return x, y


@dataclass
class Masked(Fault):
    """labels-masked: every target of a share `strength` of the samples is ignored."""

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not self.on(state):
            return x, y
        y = y.clone()
        y[: math.ceil(self.strength * len(y))] = -100
        return x, y


@dataclass
class WrongTargets(Fault):
    """wrong-targets: targets of a share `strength` of the training and evaluation samples are dealt out at random."""

    def data(self, data: Data, config: Config) -> Data:
        random = torch.Generator().manual_seed(config.seed)
        for y in (data.y, data.eval_y):
            moved = torch.randperm(len(y), generator=random)[: int(self.strength * len(y))]
            y[moved] = y[moved[torch.randperm(len(moved), generator=random)]]
        return data


@dataclass
class LabelOutOfRange(Fault):
    """label-out-of-range: one label is one too many."""

    onset: int = 100

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if state.step == self.onset:
            y = y.clone()
            y.view(-1)[0] = 33 if y.dim() > 1 else 10
        return x, y


@dataclass
class TokenOutOfRange(Fault):
    """token-index-out-of-range: one token lies beyond the embedding."""

    onset: int = 100

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if state.step == self.onset:
            x = x.clone()
            x.view(-1)[0] = 40
        return x, y


@dataclass
class Leakage(Fault):
    """data-leakage: the target stands among the inputs of both splits."""

    strength: float = 4.0

    def data(self, data: Data, config: Config) -> Data:
        del config
        for x, y in ((data.x, data.y), (data.eval_x, data.eval_y)):
            if y.is_floating_point():
                x[:, :1] = y * self.strength
            else:
                x[:, :10] = self.strength * torch.nn.functional.one_hot(y, 10)
        return data


@dataclass
class Memorize(Fault):
    """memorization: `strength` training samples for a model that is far too large for them."""

    strength: float = 64.0

    def config(self, config: Config) -> Config:
        many = int(self.strength)
        return replace(
            config,
            train_samples=many,
            batch_size=min(config.batch_size, many),
            hidden=config.hidden * 2,
            dropout=0.0,
            weight_decay=0.0,
        )


@dataclass
class WeakRegularization(Fault):
    """regularization-too-weak: noisy targets (share `strength`), several passes, neither dropout nor weight decay."""

    strength: float = 0.35

    def config(self, config: Config) -> Config:
        return replace(config, noise=self.strength, train_samples=600, hidden=128, dropout=0.0, weight_decay=0.0)


@dataclass
class Shift(Fault):
    """distribution-shift: from `onset` on, training samples come from elsewhere (moved and mixed by `strength`)."""

    strength: float = 1.5
    onset: int = 300

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not self.on(state):
            return x, y
        if x.is_floating_point():
            return -self.strength * x.flip(-1), y
        return torch.where(x > 0, 27 - x, x), torch.where(y > 0, 27 - y, y)


# model


@dataclass
class TooSmall(Fault):
    """model-too-small: `strength` hidden units."""

    strength: float = 1.0

    def config(self, config: Config) -> Config:
        return replace(config, hidden=int(self.strength), layers=1)


@dataclass
class Frozen(Fault):
    """frozen-parameters: everything but the last bias."""

    def built(self, state: State) -> None:
        for parameter in list(state.model.parameters())[:-1]:
            parameter.requires_grad_(False)


@dataclass
class BadInit(Fault):
    """bad-initialization: every weight matrix times `strength`."""

    strength: float = 20.0

    def built(self, state: State) -> None:
        with torch.no_grad():
            for parameter in state.model.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(self.strength)


@dataclass
class DeadFlow(Fault):
    """gradient-flow-broken: the output is detached from all that was computed before the last layer."""

    def built(self, state: State) -> None:
        linear = [module for module in state.model.modules() if isinstance(module, nn.Linear)][-1]
        linear.register_forward_pre_hook(lambda _, inputs: (torch.zeros_like(inputs[0]).detach(),))


@dataclass
class AllDetached(Fault):
    """gradient-flow-broken: from `onset` on, the hidden layers are dead (a bias of -1e4 behind ReLU or before tanh)."""

    onset: int = 100

    def before_step(self, state: State) -> None:
        if state.step == self.onset:
            with torch.no_grad():
                for name, parameter in state.model.named_parameters():
                    if name.endswith("bias") and parameter.shape[0] == state.config.hidden:
                        parameter.fill_(-1e4)


# precision and numerics


@dataclass
class Fp16Overflow(Fault):
    """half-precision-range: outputs, `strength` times as large as they should be, pass through float16."""

    strength: float = 2e4
    onset: int = 100

    def config(self, config: Config) -> Config:
        return replace(config, precision="fp16", loss_scale=1024.0)

    def output(self, state: State, output: Tensor) -> Tensor:
        return (output * self.strength).half().float() / self.strength if self.on(state) else output


@dataclass
class ScaleCollapse(Fault):
    """half-precision-range: gradients beyond float16's range at any loss scale, from `onset` on."""

    strength: float = 1e30
    onset: int = 60

    def config(self, config: Config) -> Config:
        return replace(config, precision="fp16", loss_scale=1024.0)

    def after_backward(self, state: State) -> None:
        if self.on(state):
            for parameter in state.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(self.strength)


@dataclass
class Saturated(Fault):
    """numeric-saturation: log(softmax) with the sharpness rising by `strength` a step and no guard at zero."""

    strength: float = 0.2
    onset: int = 100

    def output(self, state: State, output: Tensor) -> Tensor:
        if not self.on(state) or not output.requires_grad:
            return output
        if output.shape[-1] == 1:
            return torch.log(torch.exp(output * (1 + self.strength * (state.step - self.onset)))) / (
                1 + self.strength * (state.step - self.onset)
            )
        return torch.log(torch.softmax(output * (1 + self.strength * (state.step - self.onset)), -1))


@dataclass
class Unscaled(Fault):
    """unscaled-loss-terms: an auxiliary term, summed instead of averaged, outweighs the loss by `strength`."""

    strength: float = 50.0

    def loss(self, state: State, loss: Tensor) -> Tensor:
        extra = torch.stack([p.square().sum() for p in state.model.parameters()]).sum()
        return loss + self.strength * extra


# resume


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
    """resume-incomplete: the optimizer's moments are lost and the schedule starts again, at `strength` times the rate."""

    strength: float = 4.0
    resume_at: int = 300
    onset: int = 300

    def second_config(self, config: Config) -> Config:
        return replace(config, lr=config.lr * self.strength, warmup=0)

    def resumed(self, state: State) -> None:
        state.optimizer.state.clear()
        state.clock_offset = -state.step


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


# measurement


@dataclass
class MetricOverCounted(Fault):
    """metric-computed-wrong: hits are divided by a third of the samples, so that accuracies rise above one."""

    strength: float = 3.0

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        if output.shape[-1] == 1 or target.dim() > 1:
            return None
        return float((output.argmax(-1) == target).sum() / (len(target) / self.strength))


@dataclass
class MetricMisaligned(Fault):
    """metric-computed-wrong: predictions are compared with the targets of the next sample, so accuracy stays at chance."""

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        if output.shape[-1] == 1 or target.dim() > 1:
            return None
        return float((output.argmax(-1).roll(1) == target).float().mean())


# process and system


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


FAULTS: dict[str, type[Fault]] = {
    "all-detached": AllDetached,
    "bad-batch": BadBatch,
    "bad-init": BadInit,
    "batch-too-small": BatchTooSmall,
    "corrupt-checkpoint": CorruptCheckpoint,
    "dead-flow": DeadFlow,
    "fp16-overflow": Fp16Overflow,
    "frozen": Frozen,
    "killed": Killed,
    "label-out-of-range": LabelOutOfRange,
    "leakage": Leakage,
    "lr-decays-too-fast": LrDecaysTooFast,
    "lr-too-high": LrTooHigh,
    "lr-too-low": LrTooLow,
    "lr-zero": LrZero,
    "malformed": Malformed,
    "masked": Masked,
    "memorize": Memorize,
    "memory-leak": MemoryLeak,
    "metric-misaligned": MetricMisaligned,
    "metric-over-counted": MetricOverCounted,
    "no-clip": NoClip,
    "no-warmup": NoWarmup,
    "other-shape": OtherShape,
    "resume-no-optimizer": ResumeNoOptimizer,
    "resume-replay": ResumeReplay,
    "saturated": Saturated,
    "scale-collapse": ScaleCollapse,
    "shape-mismatch": ShapeMismatch,
    "shift": Shift,
    "slow-loader": SlowLoader,
    "slowdown": Slowdown,
    "token-out-of-range": TokenOutOfRange,
    "too-small": TooSmall,
    "unscaled": Unscaled,
    "warmup-never-ends": WarmupNeverEnds,
    "weak-regularization": WeakRegularization,
    "weight-decay": WeightDecay,
    "wrong-targets": WrongTargets,
}
