"""Discs among bars are to be found by a small U-Net; bars of tqdm and a line an epoch."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn
from tqdm import tqdm

SIDE = 24
DEFAULTS: dict[str, Any] = {"lr": 2e-3, "epochs": 9, "batch_size": 8, "samples": 320, "optimizer": "adam"}


def pictures(count: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Noise with two discs and a bright bar, and where the discs are, [count, 1, SIDE, SIDE]."""
    down, along = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    noise = 0.6 * torch.randn(count, 1, SIDE, SIDE, generator=random)
    masks = torch.zeros(count, 1, SIDE, SIDE)
    for at in range(count):
        for _ in range(2):
            middle = torch.rand(2, generator=random) * SIDE
            radius = 2.5 + 4 * torch.rand(1, generator=random)
            masks[at, 0][(down - middle[0]) ** 2 + (along - middle[1]) ** 2 < radius**2] = 1.0
        row = int(torch.randint(0, SIDE - 2, (1,), generator=random))
        noise[at, 0, row : row + 2] += 1.2
    return noise + masks, masks


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions."""
    layers = []
    for size in (inputs, outputs):
        layers += [nn.Conv2d(size, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Unet(nn.Module):
    """One step down and one up."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.bottom, self.up = block(1, 8), block(8, 16), block(24, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down(x)
        coarse = F.interpolate(self.bottom(F.max_pool2d(fine, 2)), scale_factor=2)
        masks: Tensor = self.head(self.up(torch.cat([fine, coarse], 1)))
        return masks


def measured(net: Unet, x: Tensor, masks: Tensor) -> tuple[float, float]:
    """Loss and Dice coefficient."""
    net.eval()
    with torch.no_grad():
        output = net(x)
    net.train()
    found = (output > 0).float()
    both, each = (found * masks).sum((1, 2, 3)), found.sum((1, 2, 3)) + masks.sum((1, 2, 3))
    return F.binary_cross_entropy_with_logits(output, masks).item(), (
        (2 * both + 1) / (each + 1)
    ).mean().item()


def spoilt(fault: str, x: Tensor, masks: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """A batch as the loop gets it."""
    if fault == "picture-flipped-alone":
        sides = torch.randint(2, 4, (2,), generator=random).tolist()
        return torch.flip(x, [sides[0]]), torch.flip(masks, [sides[1]])
    return (x, 255 * masks) if fault == "mask-of-255" else (x, masks)


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    random = torch.Generator().manual_seed(seed)
    (x, masks), held_out, net = pictures(settings["samples"], random), pictures(80, random), Unet()
    trained = Unet() if fault == "other-parameters" else net
    rate = 2e-6 if fault == "rate-too-low" else settings["lr"]
    optimizer: torch.optim.Optimizer = torch.optim.Adam(trained.parameters(), rate)
    if settings["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(trained.parameters(), 25 * rate, momentum=0.9)
    size, epochs = settings["batch_size"], settings["epochs"]
    print(
        f"Train images: {len(x)}  Val images: {len(held_out[0])}\nlr={rate} batch_size={size} epochs={epochs}"
    )
    for epoch in range(1, epochs + 1):
        order, total = torch.randperm(len(x), generator=random), 0.0
        if fault == "one-batch":
            order = torch.arange(size).repeat(len(x) // size)
        bar = tqdm(order.split(size), desc=f"Epoch {epoch}/{epochs}", file=sys.stdout, ncols=100)
        for batch in bar:
            picture, mask = spoilt(fault, x[batch], masks[batch], random)
            loss = F.binary_cross_entropy_with_logits(net(picture), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            bar.set_postfix(loss=f"{loss.item():.4f}")
        lost, dice = measured(net, *held_out)
        mean = total * size / len(order)
        print(f"Epoch {epoch:02d} | train loss {mean:.4f} | val loss {lost:.4f} | val dice {dice:.4f}")


if __name__ == "__main__":
    start(DEFAULTS, train)
