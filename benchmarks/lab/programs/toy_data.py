"""Faults in the data. The first word of each docstring is the cause that a diagnosis should name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from toy_base import Fault

if TYPE_CHECKING:
    from toy import Config, Data, State


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
        return torch.randint(int(x.max()) + 1, x.shape, generator=random), torch.randint(
            27, y.shape, generator=random
        )


@dataclass
class Malformed(Fault):
    """malformed-or-empty-samples: one sample in `strength`, from the first that is met behind `onset`, holds
    NaN or nothing."""

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
    """wrong-targets: targets of a share `strength` of the training and evaluation samples are dealt out at
    random."""

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
    """regularization-too-weak: noisy targets (share `strength`), several passes, neither dropout nor weight
    decay."""

    strength: float = 0.35

    def config(self, config: Config) -> Config:
        return replace(
            config, noise=self.strength, train_samples=600, hidden=128, dropout=0.0, weight_decay=0.0
        )


@dataclass
class Shift(Fault):
    """distribution-shift: from `onset` on, training samples come from elsewhere (moved and mixed by
    `strength`)."""

    strength: float = 1.5
    onset: int = 300

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not self.on(state):
            return x, y
        if x.is_floating_point():
            return -self.strength * x.flip(-1), y
        return torch.where(x > 0, 27 - x, x), torch.where(y > 0, 27 - y, y)


@dataclass
class Unshuffled(Fault):
    """data-order-or-replay: samples come sorted by target, the same order in every pass."""

    def built(self, state: State) -> None:
        key = state.data.y if state.data.y.dim() == 1 else state.data.y.float().mean(-1)
        order = key.argsort()
        state.data = replace(state.data, x=state.data.x[order], y=state.data.y[order])
        state.shuffle = False


@dataclass
class LabelsRemapped(Fault):
    """distribution-shift: from `onset` on, targets follow another convention (class ids in reverse, or the
    sign turned)."""

    onset: int = 300

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if not self.on(state):
            return x, y
        return x, -y if y.is_floating_point() else int(state.data.y.max()) - y


@dataclass
class EvalIsTrain(Fault):
    """data-leakage: the evaluation samples are `strength` of the training samples, which are few and fitted
    closely."""

    strength: float = 500.0

    def config(self, config: Config) -> Config:
        return replace(
            config, train_samples=int(self.strength), hidden=config.hidden * 4, dropout=0.0, weight_decay=0.0
        )

    def data(self, data: Data, config: Config) -> Data:
        del config
        return replace(data, eval_x=data.x, eval_y=data.y)


@dataclass
class BadEvalSample(Fault):
    """malformed-or-empty-samples: one evaluation sample holds NaN, so that no evaluation gives a number."""

    def data(self, data: Data, config: Config) -> Data:
        del config
        if data.eval_x.is_floating_point():
            data.eval_x[0, 0] = math.nan
        return data


@dataclass
class TooLong(Fault):
    """training-too-long: `strength` times as many steps as a small training set can bear."""

    strength: float = 2.0

    def config(self, config: Config) -> Config:
        steps = int(config.steps * self.strength)
        return replace(
            config, steps=steps, train_samples=400, hidden=config.hidden * 2, noise=0.25, schedule="constant"
        )
