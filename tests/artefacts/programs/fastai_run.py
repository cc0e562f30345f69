"""A classifier trained by fastai; prints its table under redrawn bars and writes `history.csv`."""

from __future__ import annotations

import torch
from fastai.callback.progress import CSVLogger
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.metrics import accuracy, error_rate
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = torch.randn(600, 8)
labels = (inputs[:, 0] + 0.3 * torch.randn(600) > 0).long()
parts = (slice(0, 500), slice(500, 600))
loaders = DataLoaders(
    *(DataLoader(TensorDataset(inputs[part], labels[part]), batch_size=50) for part in parts)
)
learner = Learner(
    loaders,
    torch.nn.Linear(8, 2),
    loss_func=torch.nn.CrossEntropyLoss(),
    metrics=[accuracy, error_rate],
    cbs=[CSVLogger(fname="history.csv")],
    path=".",
)
learner.fit(5, 1e-2)
