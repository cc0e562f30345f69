"""Faults in the model, its optimizer, its schedule and its precision."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..config.schema import TrainConfig
from ..model.attention import Attention
from ..model.block import Block
from .base import Fault

if TYPE_CHECKING:
    from ..state.state import TrainState


def _rates(config: TrainConfig, factor: float) -> TrainConfig:
    """Both rates times `factor`. The changed file holds the whole fault: naming it as well would apply it
    twice."""
    return replace(config, lr=config.lr * factor, puzzle_emb_lr=config.puzzle_emb_lr * factor, fault=None)


@dataclass
class LrTooHigh(Fault):
    """learning-rate-too-high: both learning rates are multiplied by `strength`."""

    strength: float = 300.0
    cause = "learning-rate-too-high"

    def config(self, config: TrainConfig) -> TrainConfig:
        return _rates(config, self.strength)


@dataclass
class LrTooLow(Fault):
    """learning-rate-too-low: both learning rates are divided by `strength`."""

    strength: float = 300.0
    cause = "learning-rate-too-low"

    def config(self, config: TrainConfig) -> TrainConfig:
        return _rates(config, 1 / self.strength)


@dataclass
class NoWarmup(Fault):
    """warmup-too-short: no warmup, and a rate that would need one (`strength` times the configured one)."""

    strength: float = 20.0
    cause = "warmup-too-short"

    def config(self, config: TrainConfig) -> TrainConfig:
        return replace(_rates(config, self.strength), lr_warmup_steps=0)


@dataclass
class LrZero(Fault):
    """lr-schedule-misconfigured: from `@step` on the learning rate is zero."""

    step: int = 100
    cause = "lr-schedule-misconfigured"

    def lr(self, step: int, lr: float) -> float:
        return 0.0 if step >= self.step else lr


@dataclass
class NanWeights(Fault):
    """numeric-saturation: before `@step`, `strength` elements of one weight matrix become NaN, once."""

    step: int = 100
    cause = "numeric-saturation"
    fired: bool = False

    def before_step(self, state: TrainState) -> None:
        if self.fired or state.step + 1 < self.step:
            return
        self.fired = True
        with torch.no_grad():
            state.model.core.lm_head.weight.view(-1)[: max(1, int(self.strength))] = math.nan


@dataclass
class FrozenParams(Fault):
    """frozen-parameters: all weights but the output head's are frozen."""

    cause = "frozen-parameters"

    def built(self, state: TrainState) -> None:
        for name, parameter in state.model.named_parameters():
            parameter.requires_grad_(name.startswith("core.lm_head"))


@dataclass
class HaltBiasZero(Fault):
    """halting-head-miscalibrated: the halting head starts undecided (bias 0, `strength` more for halting),
    not at -5."""

    strength: float = 1.0
    cause = "halting-head-miscalibrated"

    def built(self, state: TrainState) -> None:
        bias = state.model.core.q_head.bias
        assert bias is not None
        with torch.no_grad():
            bias.copy_(torch.tensor([self.strength, 0.0]))


@dataclass
class AttentionLayoutWrong(Fault):
    """attention-layout-wrong: queries, keys and values reach the kernel as [B, S, H, K], so heads attend to
    one another."""

    cause = "attention-layout-wrong"
    in_layers = True

    def built(self, state: TrainState) -> None:
        state.model.core.short = False
        for module in state.model.modules():
            if isinstance(module, Attention):
                module.backend = _over_heads


def _over_heads(q_BSHK: Tensor, k_BSHK: Tensor, v_BSHK: Tensor) -> Tensor:
    """What becomes of attention when the transpose to [B, H, S, K] is forgotten."""
    return F.scaled_dot_product_attention(q_BSHK, k_BSHK, v_BSHK)


@dataclass
class Fp16Overflow(Fault):
    """half-precision-range: from `@step` on, activations of the output head pass through float16 after
    growing by `strength`."""

    strength: float = 3e5
    step: int = 100
    cause = "half-precision-range"
    in_layers = True

    def built(self, state: TrainState) -> None:
        taken = state.step

        def narrow(module: torch.nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
            del module, inputs
            return (
                (output * self.strength).half().to(output.dtype) / self.strength if self._active else output
            )

        self._active = taken + 1 >= self.step
        state.model.core.lm_head.register_forward_hook(narrow)

    def before_step(self, state: TrainState) -> None:
        self._active = state.step + 1 >= self.step


@dataclass
class NoClipExplosion(Fault):
    """gradient-clipping-missing: SGD (rate times `strength`) for the bounded AdamATan2, on half-normalised
    activations."""

    strength: float = 1000.0
    cause = "gradient-clipping-missing"
    in_layers = True

    def config(self, config: TrainConfig) -> TrainConfig:
        loss = replace(config.arch.loss, loss_type="softmax_cross_entropy")
        return replace(config, grad_clip=None, arch=replace(config.arch, loss=loss))

    def built(self, state: TrainState) -> None:
        state.dense = _ScaledSGD(state.model.parameters(), self.strength)
        for module in state.model.modules():
            if isinstance(module, Block):
                module.register_forward_hook(_half_normed)


def _half_normed(module: torch.nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """Lets a part of the size through that RMSNorm takes away, so that larger weights make larger activations
    and gradients."""
    del module
    return output * inputs[0].square().mean(-1, keepdim=True).sqrt().pow(0.5)


class _ScaledSGD(torch.optim.SGD):
    """SGD with momentum whose rate is `scale` times the one that the schedule sets."""

    def __init__(self, params: Any, scale: float) -> None:
        super().__init__(params, lr=0.0, momentum=0.9)
        self.scale = scale

    def step(self, closure: Any = None) -> Any:
        group = self.param_groups[0]
        lr, group["lr"] = group["lr"], group["lr"] * self.scale
        result = super().step(closure)
        group["lr"] = lr
        return result
