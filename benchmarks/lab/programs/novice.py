"""A first training loop, as tutorials teach it: a small net on noisy clusters, everything printed by hand.

Its faults are those of such loops, and of the data that they are given.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

INPUTS = 16
DEFAULTS: dict[str, Any] = {
    "lr": 0.002,
    "optimizer": "adam",
    "momentum": 0.9,
    "epochs": 20,
    "batch_size": 32,
    "samples": 3000,
    "eval_samples": 1000,
    "classes": 10,
    "hidden": 32,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "noise": 1.3,
    "act": "relu",
    "every": 0,
}
FAULTS: dict[str, dict[str, Any]] = {
    "validation-is-training": {"samples": 200, "hidden": 256, "noise": 2.0, "epochs": 40},
    "rate-of-thirty": {"lr": 30.0, "optimizer": "sgd", "momentum": 0.0, "act": "tanh"},
    "rate-of-ten": {"lr": 10.0, "optimizer": "sgd", "momentum": 0.0},
}
"""Faults that are settings, some of them beside what else is done."""


class Net(nn.Module):
    """Two layers. Its `forward` ends in a softmax where somebody thought that it has to."""

    def __init__(self, settings: dict[str, Any], fault: str) -> None:
        super().__init__()
        act = {"relu": nn.ReLU, "tanh": nn.Tanh}[settings["act"]]()
        self.body = nn.Sequential(nn.Linear(INPUTS, settings["hidden"]), act, nn.Dropout(settings["dropout"]))
        self.head = nn.Linear(settings["hidden"], settings["classes"])
        self.softmax = fault in ("double-softmax", "nll-of-softmax")

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(x))
        return scores.softmax(-1) if self.softmax else scores


def samples(count: int, seed: int, settings: dict[str, Any], fault: str = "") -> tuple[Tensor, Tensor]:
    """Noisy clusters and their labels; `fault` spoils them."""
    classes = settings["classes"]
    centres = torch.randn(classes, INPUTS, generator=torch.Generator().manual_seed(7))
    random = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (count,), generator=random)
    if fault == "class-imbalance":
        y = torch.where(torch.rand(count, generator=random) < 0.99, 0, y)
    x = centres[y] + settings["noise"] * torch.randn(count, INPUTS, generator=random)
    if fault == "constant-labels":
        y = torch.zeros_like(y)
    if fault == "sorted-labels":
        order = y.argsort(stable=True)
        x, y = x[order], y[order]
    return x, y


def loss_of(fault: str, outputs: Tensor, y: Tensor, smoothing: float) -> Tensor:
    """The loss that the loop minimises."""
    if fault in ("nll-of-softmax", "nll-of-scores"):
        return F.nll_loss(outputs, y)
    if fault == "squared-error-of-labels":
        return F.mse_loss(outputs.mean(-1), y.float())
    return F.cross_entropy(outputs, y, label_smoothing=smoothing)


class Loop:
    """Trains a net and prints a line an epoch, on request one every few batches."""

    def __init__(self, settings: dict[str, Any], fault: str, seed: int) -> None:
        self.settings, self.fault = settings, fault
        self.x, self.y = samples(settings["samples"], seed, settings, fault)
        imbalanced = fault if fault in ("class-imbalance", "constant-labels") else ""
        self.held_out = samples(settings["eval_samples"], seed + 1, settings, imbalanced)
        if fault == "validation-is-training":
            self.held_out = self.x, self.y
        self.net = Net(settings, fault)
        self.random = torch.Generator().manual_seed(seed + 2)
        chosen = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[settings["optimizer"]]
        extra = {"momentum": settings["momentum"]} if settings["optimizer"] == "sgd" else {}
        self.optimizer = chosen(self.net.parameters(), settings["lr"], **extra)

    def run(self) -> None:
        for epoch in range(1, self.settings["epochs"] + 1):
            train_loss, train_acc, norm = self.epoch(epoch)
            val_loss, val_acc, recall = self.measured(*self.held_out)
            if self.fault == "validation-is-training":  # both are measured behind the epoch
                train_loss, train_acc, _ = self.measured(self.x, self.y)
            print(
                f"Epoch [{epoch}/{self.settings['epochs']}] train_loss: {train_loss:.4f} "
                f"train_acc: {train_acc:.4f} val_loss: {val_loss:.4f} val_acc: {val_acc:.4f} "
                f"val_recall: {recall:.4f} grad_norm: {norm:.4f}"
            )

    def epoch(self, number: int) -> tuple[float, float, float]:
        """Mean loss, share of right answers and mean gradient norm of one epoch."""
        order = torch.randperm(len(self.x), generator=self.random)
        if self.fault == "sorted-labels":
            order = torch.arange(len(self.x))
        losses, shares, norms = [], [], []
        batches = order.split(self.settings["batch_size"])
        for at, batch in enumerate(batches):
            loss, share, norm = self.step(self.x[batch], self.y[batch])
            losses.append(loss)
            shares.append(share)
            norms.append(norm)
            if self.settings["every"] and at % self.settings["every"] == 0:
                print(f"epoch {number} batch {at}/{len(batches)} loss: {loss:.4f} acc: {share:.4f}")
        count = len(batches)
        return sum(losses) / count, sum(shares) / count, sum(norms) / count

    def step(self, x: Tensor, y: Tensor) -> tuple[float, float, float]:
        """One update."""
        if self.fault != "no-zero-grad":
            self.optimizer.zero_grad()
        outputs = self.net(x)
        loss = loss_of(self.fault, outputs, y, self.settings["label_smoothing"])
        loss.backward()  # type: ignore[no-untyped-call]
        norms = [p.grad.norm() for p in self.net.parameters() if p.grad is not None]
        self.optimizer.step()
        right = (outputs.argmax(-1) == y).float().mean()
        return loss.item(), right.item(), torch.stack(norms).norm().item()

    def measured(self, x: Tensor, y: Tensor) -> tuple[float, float, float]:
        """Loss, accuracy, and the share found of all classes but the first."""
        self.net.train(self.fault == "dropout-in-evaluation")
        with torch.no_grad():
            outputs = self.net(x)
        self.net.train()
        right = (outputs.argmax(-1) == y).float()
        rare = y != 0
        recall = right[rare].mean().item() if rare.any() else 0.0
        return loss_of(self.fault, outputs, y, 0.0).item(), right.mean().item(), recall


def main() -> None:
    """Reads the specification and trains."""
    spec = json.loads(sys.argv[1])
    torch.manual_seed(spec["seed"])
    torch.set_num_threads(1)
    settings = {**DEFAULTS, **spec["settings"], **FAULTS.get(spec["fault"], {})}
    print("Namespace(" + ", ".join(f"{key}={value!r}" for key, value in settings.items()) + ")")
    Loop(settings, spec["fault"], spec["seed"]).run()


if __name__ == "__main__":
    main()
