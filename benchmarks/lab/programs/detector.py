"""One patch in noise: where it is, of which kind, and whether there is one; lines of average meters."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

SIDE, KINDS = 24, 3
DEFAULTS: dict[str, Any] = {
    "lr": 1.5e-3,
    "epochs": 12,
    "batch_size": 32,
    "samples": 1600,
    "optimizer": "adam",
}
Samples = tuple[Tensor, Tensor, Tensor, Tensor]


def scenes(count: int, random: torch.Generator, rare: bool = False) -> Samples:
    """Pictures [n, 1, SIDE, SIDE], boxes (middle and size, as shares) [n, 4], kinds [n], presence [n]."""
    x = 0.4 * torch.randn(count, 1, SIDE, SIDE, generator=random)
    kind = torch.randint(0, KINDS, (count,), generator=random)
    if rare:
        kind = torch.where(torch.rand(count, generator=random) < 0.97, 0, kind)
    size = torch.randint(6, 11, (count, 2), generator=random)
    place = (torch.rand(count, 2, generator=random) * (SIDE - size)).long()
    there = (torch.rand(count, generator=random) < 0.75).float()
    for at in range(count):
        (top, left), (high, wide) = place[at].tolist(), size[at].tolist()
        patch = torch.full((high, wide), 1.2 * float(there[at]))
        if kind[at] == 1:
            patch[::2] = 0
        if kind[at] == 2:
            patch[:, ::2] = 0
        x[at, 0, top : top + high, left : left + wide] += patch
    return x, torch.cat([place + size / 2, size], 1) / SIDE, kind, there


def network(fault: str) -> nn.Sequential:
    """Two convolutions, a layer, and a head of 4 + KINDS + 1 outputs."""
    body = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24 * 36, 64),
        nn.ReLU(),
    )
    if fault == "dead-units":
        for layer in body:
            if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None:
                nn.init.constant_(layer.bias, -4.0)
    if fault == "frozen-body":
        body.requires_grad_(False)
    return nn.Sequential(body, nn.Linear(64, 4 + KINDS + 1))


def losses(output: Tensor, box: Tensor, kind: Tensor, there: Tensor, weight: float) -> list[Tensor]:
    """Of the box, the kind and the presence."""
    count = there.sum().clamp(min=1)
    of_box = F.smooth_l1_loss(output[:, :4].sigmoid(), box, reduction="none").sum(1)
    of_kind = F.cross_entropy(output[:, 4 : 4 + KINDS], kind, reduction="none")
    of_presence = F.binary_cross_entropy_with_logits(output[:, -1], there)
    return [weight * (of_box * there).sum() / count, (of_kind * there).sum() / count, of_presence]


def overlap(one: Tensor, other: Tensor) -> Tensor:
    """Intersection over union of boxes."""
    low = torch.max(one[:, :2] - one[:, 2:] / 2, other[:, :2] - other[:, 2:] / 2)
    high = torch.min(one[:, :2] + one[:, 2:] / 2, other[:, :2] + other[:, 2:] / 2)
    both = (high - low).clamp(min=0).prod(1)
    return both / (one[:, 2:].prod(1) + other[:, 2:].prod(1) - both + 1e-9)


def measured(net: nn.Module, held_out: Samples) -> str:
    """The scores of an epoch."""
    x, box, kind, there = held_out
    with torch.no_grad():
        output = net(x)
    shared = overlap(output[:, :4].sigmoid(), box)
    right = output[:, 4 : 4 + KINDS].argmax(1) == kind
    found = (shared > 0.5) & right & (output[:, -1] > 0)
    of = there > 0
    shares = [one[of].float().mean().item() for one in (found, shared, right)]
    return f" * AP50 {100 * shares[0]:.2f} mIoU {shares[1]:.3f} Acc@1 {100 * shares[2]:.2f}"


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    random = torch.Generator().manual_seed(seed)
    data = scenes(settings["samples"], random, fault == "one-kind-in-thirty")
    held_out, net, size = scenes(300, random), network(fault), settings["batch_size"]
    optimizer: torch.optim.Optimizer = torch.optim.Adam(net.parameters(), settings["lr"])
    if settings["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 11], 0.1)
    weight, count = 1e4 if fault == "box-weighs-10000" else 5.0, settings["samples"] // size
    for epoch in range(settings["epochs"]):
        order, sums = torch.randperm(settings["samples"], generator=random), torch.zeros(4)
        if fault == "sorted-by-kind":
            order = (data[2] + 3 * (1 - data[3])).argsort(stable=True)
        for at, batch in enumerate(order[: count * size].split(size)):
            x, box, kind, there = (one[batch] for one in data)
            if fault == "shifted-without-boxes":
                x = torch.roll(x, torch.randint(0, SIDE, (2,), generator=random).tolist(), (2, 3))
            terms = losses(net(x), box, kind, there, weight)
            loss = torch.stack(terms).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if fault == "rate-decays-by-batch":
                schedule.step()
            now = torch.stack([loss, *terms]).detach()
            sums += now
            if at % 10 == 0:
                shown = zip(
                    ("Loss", "Box", "Cls", "Obj"), now.tolist(), (sums / (at + 1)).tolist(), strict=True
                )
                meters = "\t".join(f"{name} {value:.4f} ({mean:.4f})" for name, value, mean in shown)
                print(f"Epoch: [{epoch}][{at}/{count}]\t{meters}")
        if fault != "rate-decays-by-batch":
            schedule.step()
        print(measured(net, held_out))


if __name__ == "__main__":
    start(DEFAULTS, train)
