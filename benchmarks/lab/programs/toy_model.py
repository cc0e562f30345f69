"""Faults in optimizer, schedule, model, precision and numerics. The first word of each docstring is the true
cause."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from toy_base import Fault

if TYPE_CHECKING:
    from toy import Config, Data, State


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
    """lr-schedule-misconfigured: stepped `strength` times a step, as when a per-epoch schedule is stepped
    every batch."""

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
    """gradient-clipping-missing: momentum SGD without clipping, on heavy-tailed samples (one in `strength` is
    far out)."""

    strength: float = 300.0

    def config(self, config: Config) -> Config:
        return replace(config, optimizer="sgd", lr=config.lr * 15, grad_clip=0.0)

    def data(self, data: Data, config: Config) -> Data:
        if data.x.is_floating_point():
            far = (
                torch.rand(len(data.x), generator=torch.Generator().manual_seed(config.seed))
                < 1 / self.strength
            )
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
    """gradient-flow-broken: from `onset` on, the hidden layers are dead (a bias of -1e4 behind ReLU or before
    tanh)."""

    onset: int = 100

    def before_step(self, state: State) -> None:
        if state.step == self.onset:
            with torch.no_grad():
                for name, parameter in state.model.named_parameters():
                    if name.endswith("bias") and parameter.shape[0] == state.config.hidden:
                        parameter.fill_(-1e4)


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
    """numeric-saturation: log(softmax) with the sharpness rising by `strength` a step and no guard at
    zero."""

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
    """unscaled-loss-terms: an auxiliary term, summed instead of averaged, outweighs the loss by
    `strength`."""

    strength: float = 50.0

    def loss(self, state: State, loss: Tensor) -> Tensor:
        extra = torch.stack([p.square().sum() for p in state.model.parameters()]).sum()
        return loss + self.strength * extra


@dataclass
class Bf16Weights(Fault):
    """mixed-precision-misuse: weights are kept in bfloat16 without a copy in float32, so that small updates
    are lost."""

    strength: float = 1.0

    def config(self, config: Config) -> Config:
        return replace(config, lr=config.lr / (10 * self.strength))

    def after_step(self, state: State) -> None:
        with torch.no_grad():
            for parameter in state.model.parameters():
                parameter.copy_(parameter.bfloat16().float())
