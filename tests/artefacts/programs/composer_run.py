"""A classifier trained by Composer; prints to the console (`console`), or a bar beside a FileLogger
(`file`)."""

from __future__ import annotations

import sys

import torch
from composer import Trainer
from composer.loggers import FileLogger
from composer.models import ComposerClassifier
from composer.optim import DecoupledAdamW
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = torch.randn(480, 8)
labels = (inputs[:, 0] + 0.3 * torch.randn(480) > 0).long()
train, held_out = (
    DataLoader(TensorDataset(inputs[p], labels[p]), batch_size=40) for p in (slice(0, 400), slice(400, 480))
)
model = ComposerClassifier(torch.nn.Linear(8, 2), num_classes=2)
console = sys.argv[1] == "console"
Trainer(
    model=model,
    train_dataloader=train,
    eval_dataloader=held_out,
    optimizers=DecoupledAdamW(model.parameters(), lr=1e-2),
    max_duration="3ep",
    eval_interval="1ep",
    device="cpu",
    seed=17,
    progress_bar=not console,
    log_to_console=console,
    console_log_interval="1ba",
    loggers=[] if console else [FileLogger(filename="logs-rank{rank}.txt")],
).fit()
