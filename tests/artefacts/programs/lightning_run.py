"""A regression trained by Lightning: `lightning_run.py tqdm|rich|diverging`."""

from __future__ import annotations

import sys

import lightning
import torch
from lightning.pytorch.callbacks import RichProgressBar, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    """One linear layer; logs by step, by epoch, and the learning rate."""

    def __init__(self, lr: float = 0.05, width: int = 8) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(width, 1)

    def training_step(self, batch, index):
        loss = nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", nn.functional.mse_loss(self.layer(batch[0]), batch[1]), prog_bar=True)

    def on_train_epoch_end(self):
        self.log("lr", self.hparams.lr)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def loader(samples: int, shuffle: bool) -> DataLoader:
    inputs = torch.randn(samples, 8, generator=torch.Generator().manual_seed(samples))
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=8, shuffle=shuffle)


mode = sys.argv[1]
torch.set_num_threads(1)
lightning.seed_everything(0)
trainer = lightning.Trainer(
    max_epochs=3,
    accelerator="cpu",
    log_every_n_steps=3,
    logger=[CSVLogger("."), TensorBoardLogger(".", version=0)],
    callbacks=[RichProgressBar() if mode == "rich" else TQDMProgressBar()],
    enable_checkpointing=False,
)
trainer.fit(Regression(lr=1e12 if mode == "diverging" else 0.05), loader(64, True), loader(16, False))
