"""A regression net: a smooth function of eight variables with noise, mean squared error."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toy import Config, Data, main

INPUTS = 8


class Regression:
    """Targets of unit variance; `noise` is the share of their variance that nothing explains."""

    defaults: dict[str, Any] = {
        "lr": 3e-3,
        "steps": 1000,
        "eval_every": 50,
        "log_every": 10,
        "grad_clip": 1.0,
        "noise": 0.05,
    }
    logger = "events"

    def data(self, config: Config, random: torch.Generator) -> Data:
        if config.task == "distilled":
            return self._distilled(config, random)
        weights = torch.randn(INPUTS, 6, generator=random) / INPUTS**0.5

        def split(count: int) -> tuple[Tensor, Tensor]:
            x = torch.randn(count, INPUTS, generator=random)
            signal = torch.sin(2 * (x @ weights)).sum(-1) / 2
            noise = torch.randn(count, generator=random) * config.noise**0.5
            return x, (signal + noise).unsqueeze(-1)

        return Data(*split(config.train_samples), *split(config.eval_samples))

    def _distilled(self, config: Config, random: torch.Generator) -> Data:
        """Targets are what a larger net answers: there is nothing that could not be learnt."""
        first = torch.randn(INPUTS, 96, generator=random) / INPUTS**0.5
        second = torch.randn(96, 1, generator=random) / 8

        def split(count: int) -> tuple[Tensor, Tensor]:
            x = torch.randn(count, INPUTS, generator=random)
            return x, torch.tanh(2 * (x @ first)) @ second

        return Data(*split(config.train_samples), *split(config.eval_samples))

    def model(self, config: Config) -> nn.Module:
        layers: list[nn.Module] = []
        width = INPUTS
        for _ in range(config.layers):
            layers += [nn.Linear(width, config.hidden), nn.Tanh(), nn.Dropout(config.dropout)]
            width = config.hidden
        return nn.Sequential(*layers, nn.Linear(width, 1))

    def loss(self, output: Tensor, target: Tensor, config: Config) -> Tensor:
        del config
        return F.mse_loss(output, target)

    def accuracy(self, output: Tensor, target: Tensor) -> float | None:
        del output, target
        return None


if __name__ == "__main__":
    main(Regression())
