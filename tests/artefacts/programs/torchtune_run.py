"""A regression whose numbers go through torchtune's own loggers: `log_<unix>.txt` and the same lines on
stdout."""

from __future__ import annotations

import torch
from torchtune.training.metric_logging import DiskLogger, StdoutLogger

torch.set_num_threads(1)
torch.manual_seed(0)
inputs = torch.randn(400, 8)
targets = inputs @ torch.randn(8, 1)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loggers = [DiskLogger(log_dir="logs", filename="log.txt"), StdoutLogger()]
for step in range(1, 31):
    optimizer.zero_grad()
    loss = ((model(inputs) - targets) ** 2).mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e9)
    optimizer.step()
    for logger in loggers:
        logger.log_dict(
            {
                "loss": loss.item(),
                "lr": 0.05,
                "tokens_per_second_per_gpu": 400 / (step + 1),
                "grad_norm": norm,
            },
            step=step,
        )
for logger in loggers:
    logger.close()
