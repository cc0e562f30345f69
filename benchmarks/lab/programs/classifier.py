"""A classifier of noisy clusters: an MLP, or a small convolution net, with dropout."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toy import Config, Data, main

CLASSES, SIDE = 10, 6


def parity(count: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Whether the number of minus ones among three of the inputs is odd: nothing is learnt for long, then all
    at once."""
    x = torch.randint(2, (count, SIDE * SIDE), generator=random).float() * 2 - 1
    return x, (x[:, :3].prod(-1) < 0).long()


class Classifier:
    """Ten classes of 6x6 images: a prototype each, mixed with noise; a share `noise` of the labels is
    random."""

    defaults: dict[str, Any] = {
        "lr": 2e-3,
        "steps": 1200,
        "eval_every": 40,
        "log_every": 5,
        "grad_clip": 0.0,
        "dropout": 0.1,
    }
    logger = "keras"

    def data(self, config: Config, random: torch.Generator) -> Data:
        if config.task == "parity":
            return Data(*parity(config.train_samples, random), *parity(config.eval_samples, random))
        prototypes = torch.randn(CLASSES, 3, SIDE * SIDE, generator=random)

        def split(count: int) -> tuple[Tensor, Tensor]:
            y = torch.randint(CLASSES, (count,), generator=random)
            variant = torch.randint(3, (count,), generator=random)
            x = prototypes[y, variant] + 1.1 * torch.randn(count, SIDE * SIDE, generator=random)
            wrong = torch.rand(count, generator=random) < config.noise
            return x, torch.where(wrong, torch.randint(CLASSES, (count,), generator=random), y)

        return Data(*split(config.train_samples), *split(config.eval_samples))

    def model(self, config: Config) -> nn.Module:
        layers: list[nn.Module] = []
        width = SIDE * SIDE
        for _ in range(config.layers):
            layers += [nn.Linear(width, config.hidden), nn.ReLU(), nn.Dropout(config.dropout)]
            width = config.hidden
        return nn.Sequential(*layers, nn.Linear(width, CLASSES))

    def loss(self, output: Tensor, target: Tensor, config: Config) -> Tensor:
        return F.cross_entropy(output, target, label_smoothing=config.label_smoothing, ignore_index=-100)

    def accuracy(self, output: Tensor, target: Tensor) -> float | None:
        return float((output.argmax(-1) == target).float().mean())


if __name__ == "__main__":
    main(Classifier())
