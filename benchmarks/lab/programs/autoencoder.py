"""A variational autoencoder of discs, which prints as the PyTorch examples do."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

SIDE = 16
CODE = 6
DEFAULTS: dict[str, Any] = {
    "lr": 1e-3,
    "epochs": 10,
    "batch_size": 100,
    "samples": 3000,
    "warm": 1,
    "again": 0,
}
RATES = {"rate-too-high": 0.3}


def discs(count: int, random: torch.Generator) -> Tensor:
    """Soft discs of any place and size, [count, SIDE * SIDE], between 0 and 1."""
    centre = torch.rand(count, 2, generator=random) * 10 + 3
    radius = torch.rand(count, 1, 1, generator=random) * 2 + 1.5
    at = torch.arange(float(SIDE))
    distance = (at[None, :, None] - centre[:, 0, None, None]) ** 2 + (
        at[None, None, :] - centre[:, 1, None, None]
    ) ** 2
    return torch.sigmoid(radius**2 - distance).reshape(count, SIDE * SIDE)


class Autoencoder(nn.Module):
    """Two layers to a code, two back."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, 128), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(128, CODE), nn.Linear(128, CODE)
        self.decoder = nn.Sequential(nn.Linear(CODE, 128), nn.ReLU(), nn.Linear(128, SIDE * SIDE))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


def terms(net: Autoencoder, x: Tensor) -> tuple[Tensor, Tensor]:
    """Reconstruction and divergence, summed over the batch."""
    output, mean, log_variance = net(x)
    divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
    return F.binary_cross_entropy_with_logits(output, x, reduction="sum"), divergence


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    random = torch.Generator().manual_seed(seed)
    data, held_out = discs(settings["samples"], random), discs(500, random)
    net = Autoencoder()
    if fault == "frozen-decoder":
        net.decoder.requires_grad_(False)
    rate = RATES.get(fault, settings["lr"])
    optimizer = torch.optim.Adam(net.parameters(), rate)
    size = settings["batch_size"]
    for epoch in range(1, settings["epochs"] + 1):
        weight = 200.0 if fault == "divergence-weighs-200" else min(1.0, epoch / settings["warm"])
        if epoch == settings["again"]:
            optimizer = torch.optim.Adam(net.parameters(), 2 * rate)
        order, total = torch.randperm(len(data), generator=random), 0.0
        for at, batch in enumerate(order.split(size)):
            optimizer.zero_grad()
            bce, kld = terms(net, data[batch])
            loss = bce + weight * kld
            loss.backward()
            optimizer.step()
            total += loss.item()
            if fault == "rate-decays-by-batch":
                optimizer.param_groups[0]["lr"] *= 0.9
            if at % 5 == 0:
                seen, each = at * size, [one.item() / len(batch) for one in (loss, bce, kld)]
                print(
                    f"Train Epoch: {epoch} [{seen}/{len(data)} ({100 * seen / len(data):.0f}%)]\t"
                    f"Loss: {each[0]:.6f}\tBCE: {each[1]:.4f}\tKLD: {each[2]:.4f}"
                )
        print(f"====> Epoch: {epoch} Average loss: {total / len(data):.4f}")
        with torch.no_grad():
            bce, kld = terms(net, held_out)
        print(f"====> Test set loss: {(bce + weight * kld).item() / len(held_out):.4f}")


if __name__ == "__main__":
    start(DEFAULTS, train)
