"""A classifier trained by MMEngine's runner; prints its log and writes the same with dates and as JSON
lines."""

from __future__ import annotations

import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = torch.randn(400, 6)
labels = (inputs[:, 0] > 0).long()


class Linear(BaseModel):
    """Two classes from six numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 2)

    def forward(self, rows: torch.Tensor, labels: torch.Tensor, mode: str = "tensor") -> object:
        """Losses by name to train on, else scores beside labels."""
        scores = self.layer(rows)
        return (
            {"loss": torch.nn.functional.cross_entropy(scores, labels)}
            if mode == "loss"
            else (scores, labels)
        )


class Accuracy(BaseMetric):
    """Share of right classes, percent."""

    def process(self, data_batch: object, data_samples: tuple[torch.Tensor, torch.Tensor]) -> None:
        """Counts one batch."""
        scores, labels = data_samples
        self.results.append((int((scores.argmax(1) == labels).sum()), len(labels)))

    def compute_metrics(self, results: list[tuple[int, int]]) -> dict[str, float]:
        """Of all batches."""
        return {"accuracy": 100 * sum(right for right, _ in results) / sum(of for _, of in results)}


Runner(
    model=Linear(),
    work_dir="work",
    train_dataloader=DataLoader(TensorDataset(inputs, labels), 20),
    optim_wrapper={"optimizer": {"type": torch.optim.SGD, "lr": 0.1}},
    train_cfg={"by_epoch": True, "max_epochs": 3, "val_interval": 1},
    val_dataloader=DataLoader(TensorDataset(inputs, labels), 20),
    val_cfg={},
    val_evaluator={"type": Accuracy},
    default_hooks={"logger": {"type": "LoggerHook", "interval": 5}},
).train()
