"""Lightning's Trainer on a small convolution net, with CSVLogger, a progress bar, checkpoints and the
learning rate's monitor."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import lightning
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

CLASSES, SIDE, ONSET = 8, 8, 120
DEFAULTS: dict[str, Any] = {
    "lr": 2e-3,
    "epochs": 8,
    "batch_size": 32,
    "samples": 1000,
    "width": 12,
    "noise": 1.0,
    "dropout": 0.1,
    "weight_decay": 0.01,
    "schedule": "cosine",
    "optimizer": "adamw",
    "clip": 1.0,
    "log_every": 5,
    "eval_samples": 200,
    "accumulate": 1,
    "precision": "32-true",
}
FAULTS: dict[str, dict[str, Any]] = {
    "batch-too-small": {"batch_size": 1, "lr": 1e-2, "samples": 250},
    "bf16-weights": {"precision": "bf16-true", "lr": 2e-4},
    "lr-decays-too-fast": {"schedule": "fast"},
    "lr-too-high": {"lr": 1.0},
    "lr-too-low": {"lr": 4e-6},
    "lr-zero": {"schedule": "zero"},
    "memorize": {
        "samples": 64,
        "epochs": 100,
        "dropout": 0.0,
        "width": 24,
        "noise": 1.6,
        "weight_decay": 0.0,
    },
    "no-clip": {"clip": 0.0, "optimizer": "sgd", "lr": 0.4},
    "too-long": {
        "samples": 200,
        "epochs": 40,
        "schedule": "constant",
        "dropout": 0.0,
        "width": 24,
        "noise": 1.6,
    },
    "too-small": {"width": 1},
    "weight-decay": {"weight_decay": 60.0},
    "eval-is-train": {"samples": 150, "epochs": 40, "dropout": 0.0, "width": 24, "noise": 2.0},
}
"""Faults that are settings."""


class Images(Dataset[tuple[Tensor, Tensor]]):
    """A pattern for each class, shifted, under noise."""

    def __init__(self, count: int, seed: int, noise: float, fault: str = "") -> None:
        patterns = torch.randn(CLASSES, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(3))
        random = torch.Generator().manual_seed(seed)
        self.y = torch.randint(CLASSES, (count,), generator=random)
        self.x = patterns[self.y] + noise * torch.randn(count, 1, SIDE, SIDE, generator=random)
        if fault == "wrong-targets":
            self.y = self.y[torch.randperm(count, generator=random)]
        if fault == "malformed":
            self.x[::97] = math.nan
        if fault == "label-out-of-range":
            self.y[count // 2] = CLASSES + 4
        if fault == "leakage":
            self.x[:, 0, 0] = 4.0 * F.one_hot(self.y, CLASSES)
        if fault == "masked":
            self.y[:] = -100
        if fault == "unshuffled":
            order = self.y.argsort()
            self.x, self.y = self.x[order], self.y[order]
        self.fault = fault

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if self.fault == "bad-sample" and index == 500:
            raise ValueError(f"sample {index}: expected {SIDE * SIDE} values, found 41")
        if self.fault == "worker-killed" and index == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "slow-loader":
            time.sleep(0.004)
        return self.x[index], self.y[index]


class Net(lightning.LightningModule):
    """Two convolutions and a linear head; logs loss, accuracy and the gradient's norm."""

    def __init__(self, settings: dict[str, Any], fault: str) -> None:
        super().__init__()
        self.save_hyperparameters(
            {key: settings[key] for key in ("lr", "width", "dropout", "weight_decay", "batch_size")}
        )
        self.settings, self.fault = settings, fault
        width = settings["width"]
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3), nn.ReLU(), nn.Conv2d(width, width, 3, stride=2), nn.ReLU(), nn.Flatten()
        )
        self.drop = nn.Dropout(settings["dropout"])
        self.head = nn.Linear(width * 4, CLASSES)
        if fault == "frozen":
            for parameter in (*self.body.parameters(), self.head.weight):
                parameter.requires_grad_(False)
        if fault == "bad-init":
            for parameter in self.parameters():
                parameter.data.mul_(30)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x)
        if self.fault == "dead-flow":
            hidden = torch.zeros_like(hidden).detach()
        scores: Tensor = self.head(self.drop(hidden))
        return scores

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        del index
        x, y = disturbed(self.fault, self.global_step, *batch)
        scores = self(x)
        loss = F.cross_entropy(scores.float(), y)
        self.log("train_loss", loss, prog_bar=True)
        self.log("train_acc", (scores.argmax(-1) == y).float().mean())
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        del index
        x, y = batch
        scores = self(x)
        self.log("val_loss", F.cross_entropy(scores.float(), y), prog_bar=True)
        self.log("val_acc", (scores.argmax(-1) == y).float().mean(), prog_bar=True)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        del optimizer
        norms = [p.grad.float().norm() for p in self.parameters() if p.grad is not None]
        self.log("grad_norm", torch.stack(norms).norm() if norms else torch.tensor(0.0))

    def configure_optimizers(self) -> Any:
        settings = self.settings
        chosen = [p for p in self.parameters() if p.requires_grad]
        optimizer: torch.optim.Optimizer
        if settings["optimizer"] == "sgd":
            optimizer = torch.optim.SGD(chosen, lr=settings["lr"], momentum=0.9)
        else:
            optimizer = torch.optim.AdamW(chosen, lr=settings["lr"], weight_decay=settings["weight_decay"])
        total = int(self.trainer.estimated_stepping_batches)
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: factor(settings["schedule"], step, total)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def factor(schedule: str, step: int, total: int) -> float:
    """What the learning rate is multiplied by at `step` of `total`."""
    share = min(1.0, step / total)
    shapes = {
        "constant": 1.0,
        "cosine": 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * share)),
        "one-cycle": share / 0.3 if share < 0.3 else (1 - share) / 0.7,
        "steps": 0.3 ** int(share * 3),
        "restarts": 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * ((share * 3) % 1))),
        "fast": math.exp(-20 * share),
        "zero": float(step < ONSET),
    }
    return shapes[schedule]


def disturbed(fault: str, step: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The batch that a fault in mid-run makes of a good one; some end the process."""
    if step < ONSET:
        return x, y
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "preempted" and step == ONSET:
        os.kill(os.getpid(), signal.SIGTERM)
    if fault == "hang":
        time.sleep(3600)
    if fault == "shape-mismatch":
        return x[:, :, :-1], y
    if fault == "labels-remapped":
        return x, CLASSES - 1 - y
    if fault == "shift":
        return -1.5 * x.flip(-1), y
    if fault == "bad-batch" and step < ONSET + 8:
        return 30 * x + 10, y.roll(1)
    return x, y


def fit(settings: dict[str, Any], fault: str, seed: int) -> None:
    """Builds data, model and trainer, and fits."""
    train = Images(settings["samples"], seed, settings["noise"], fault)
    spoilt = fault if fault in ("wrong-targets", "leakage", "masked") else ""
    held_out = (
        train
        if fault == "eval-is-train"
        else Images(settings["eval_samples"], seed + 1, settings["noise"], spoilt)
    )
    if fault == "bad-eval-sample":
        held_out.x[7, 0, 0, 0] = math.nan
    workers = 1 if fault in ("worker-killed", "bad-sample") else 0
    batches = DataLoader(
        train, settings["batch_size"], shuffle=fault != "unshuffled", num_workers=workers, drop_last=True
    )
    extra: dict[str, Any] = {"max_epoch": 8} if fault == "no-such-setting" else {}
    monitor = "validation_loss" if fault == "wrong-monitor" else "val_loss"
    trainer = lightning.Trainer(
        accelerator="gpu" if fault == "no-device" else "cpu",
        devices=1,
        max_epochs=settings["epochs"],
        precision=settings["precision"],
        gradient_clip_val=settings["clip"] or None,
        accumulate_grad_batches=settings["accumulate"],
        log_every_n_steps=settings["log_every"],
        logger=CSVLogger(".", name="lightning_logs", flush_logs_every_n_steps=10),
        callbacks=[
            LearningRateMonitor("step"),
            ModelCheckpoint(monitor=monitor),
            TQDMProgressBar(refresh_rate=5),
        ],
        num_sanity_val_steps=0,
        **extra,
    )
    if fault == "file-limit":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (12000, resource.RLIM_INFINITY))
    trainer.fit(
        Net(settings, fault), batches, DataLoader(held_out, 64), ckpt_path=checkpoint(settings, fault)
    )


def checkpoint(settings: dict[str, Any], fault: str) -> str | None:
    """The checkpoint to go on from: of a wider model, or cut in the middle."""
    if fault not in ("other-shape", "corrupt-checkpoint"):
        return None
    net = Net({**settings, "width": settings["width"] * 2} if fault == "other-shape" else settings, "")
    path = Path("last.ckpt")
    content = {
        "state_dict": net.state_dict(),
        "epoch": 2,
        "global_step": 93,
        "pytorch-lightning_version": lightning.__version__,
    }
    torch.save({**content, "optimizer_states": [], "lr_schedulers": [], "loops": {}, "callbacks": {}}, path)
    if fault == "corrupt-checkpoint":
        os.truncate(path, path.stat().st_size // 2)
    return str(path)


def main() -> None:
    """Reads the specification and trains."""
    spec = json.loads(sys.argv[1])
    fault = spec["fault"]
    lightning.seed_everything(spec["seed"])
    torch.set_num_threads(1)
    fit({**DEFAULTS, **spec["settings"], **FAULTS.get(fault, {})}, fault, spec["seed"])


if __name__ == "__main__":
    main()
