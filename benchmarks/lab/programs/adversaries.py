"""Two small nets against one another: one learns to draw points on a ring, the other to tell them from real.

Logs as the tutorials of such trainings do, with the distance to real points behind each epoch.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NOISE = 8
DEFAULTS: dict[str, Any] = {
    "lr": 1e-3,
    "lr_d": 1e-3,
    "epochs": 10,
    "iterations": 100,
    "batch_size": 64,
    "hidden": 64,
    "hidden_d": 64,
    "steps_d": 1,
    "far": 0.0,
    "beta1": 0.5,
    "every": 10,
}
FAULTS: dict[str, dict[str, Any]] = {
    "discriminator-wins": {"lr": 5e-6, "lr_d": 5e-3, "steps_d": 5, "hidden_d": 256, "far": 6.0},
    "ranges-differ": {"far": 60.0, "lr": 1e-4},
}


def net(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Three layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )


def real(count: int, random: torch.Generator, far: float) -> Tensor:
    """Points on a ring around the origin, or around a place that is `far` from it."""
    angle = 2 * math.pi * torch.rand(count, generator=random)
    ring = torch.stack([angle.cos(), angle.sin()], dim=1)
    return ring + 0.05 * torch.randn(count, 2, generator=random) + far


def distance(one: Tensor, other: Tensor) -> float:
    """Energy distance of two samples."""
    between = torch.cdist(one, other).mean()
    return float(2 * between - torch.cdist(one, one).mean() - torch.cdist(other, other).mean())


def fit(settings: dict[str, Any], seed: int) -> None:
    """Trains both in turn."""
    random = torch.Generator().manual_seed(seed)
    forger, judge = net(NOISE, settings["hidden"], 2), net(2, settings["hidden_d"], 1)
    betas = (settings["beta1"], 0.999)
    of_forger = torch.optim.Adam(forger.parameters(), settings["lr"], betas=betas)
    of_judge = torch.optim.Adam(judge.parameters(), settings["lr_d"], betas=betas)
    count = settings["batch_size"]
    yes, no = torch.ones(count, 1), torch.zeros(count, 1)

    def made(number: int = count) -> Tensor:
        points: Tensor = forger(torch.randn(number, NOISE, generator=random))
        return points

    for epoch in range(settings["epochs"]):
        for at in range(settings["iterations"]):
            for _ in range(settings["steps_d"]):
                of_judge.zero_grad()
                truth, lie = judge(real(count, random, settings["far"])), judge(made().detach())
                loss_d = F.binary_cross_entropy_with_logits(truth, yes) + F.binary_cross_entropy_with_logits(
                    lie, no
                )
                loss_d.backward()
                of_judge.step()
            of_forger.zero_grad()
            passed = judge(made())
            loss_g = F.binary_cross_entropy_with_logits(passed, yes)
            loss_g.backward()
            of_forger.step()
            if at % settings["every"] == 0:
                print(
                    f"[{epoch}/{settings['epochs']}][{at}/{settings['iterations']}]\t"
                    f"Loss_D: {loss_d.item():.4f}\tLoss_G: {loss_g.item():.4f}\t"
                    f"D(x): {truth.sigmoid().mean().item():.4f}\t"
                    f"D(G(z)): {lie.sigmoid().mean().item():.4f} / {passed.sigmoid().mean().item():.4f}"
                )
        with torch.no_grad():
            print(f"eval_loss: {distance(made(512), real(512, random, settings['far'])):.4f}")


def main() -> None:
    """Reads the specification and trains."""
    spec = json.loads(sys.argv[1])
    torch.manual_seed(spec["seed"])
    torch.set_num_threads(1)
    fit({**DEFAULTS, **spec["settings"], **FAULTS.get(spec["fault"], {})}, spec["seed"])


if __name__ == "__main__":
    main()
