"""A classifier trained by Ignite: its bar, its logger, and a printed evaluation an epoch."""

from __future__ import annotations

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers.tqdm_logger import ProgressBar
from ignite.metrics import Accuracy, Loss
from ignite.utils import setup_logger
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = torch.randn(400, 6)
labels = (inputs[:, 0] > 0).long()
loader = DataLoader(TensorDataset(inputs, labels), 40)
model = torch.nn.Linear(6, 2)
criterion = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), 0.1), criterion)
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(criterion)})
trainer.logger = setup_logger("trainer")
ProgressBar(persist=True).attach(trainer, output_transform=lambda loss: {"batch loss": loss})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine: Engine) -> None:
    """As the examples of Ignite print it."""
    evaluator.run(loader)
    told = evaluator.state.metrics
    print(
        f"Validation Results - Epoch: {engine.state.epoch}  "
        f"Avg accuracy: {told['accuracy']:.2f} Avg loss: {told['loss']:.2f}",
        flush=True,
    )


trainer.run(loader, max_epochs=3)
