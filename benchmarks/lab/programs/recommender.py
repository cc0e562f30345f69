"""Tastes of users by pairwise ranking; a table of epochs and a few lines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

USERS, ITEMS, TASTES = 600, 300, 6
DEFAULTS: dict[str, Any] = {"lr": 2e-2, "epochs": 25, "batch_size": 512, "width": 16, "decay": 1e-5}
KEPT, SHOWN = 16, 10


def liked(random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Items that each user likes: to train on [USERS, KEPT], and held out [USERS, 4]."""
    taste = torch.randn(USERS, TASTES, generator=random)
    kind = torch.randn(ITEMS, TASTES, generator=random)
    noise = -torch.log(-torch.log(torch.rand(USERS, ITEMS, generator=random).clamp(1e-6, 1 - 1e-6)))
    best = (1.3 * taste @ kind.T + noise).topk(KEPT + 4).indices
    best = best[:, torch.randperm(KEPT + 4, generator=random)]
    return best[:, :KEPT], best[:, KEPT:]


def measured(scores: Tensor, seen: Tensor, wanted: Tensor) -> tuple[float, float]:
    """Recall and discounted gain of the first ten that the user has not seen."""
    shown = scores.scatter(1, seen, -torch.inf).topk(SHOWN).indices
    hits = (shown[:, :, None] == wanted[:, None, :]).any(2).float()
    discount = torch.log2(torch.arange(2.0, SHOWN + 2)).reciprocal()
    best = discount[: wanted.shape[1]].sum()
    return (hits.sum(1) / wanted.shape[1]).mean().item(), ((hits * discount).sum(1) / best).mean().item()


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    random = torch.Generator().manual_seed(seed)
    seen, wanted = liked(random)
    pairs = torch.stack([torch.arange(USERS).repeat_interleave(KEPT), seen.flatten()], 1)
    if fault == "items-misnumbered":
        shift = torch.randint(0, ITEMS, (USERS,), generator=random)
        pairs[:, 1] = (pairs[:, 1] + shift[pairs[:, 0]]) % ITEMS
    users, items = nn.Embedding(USERS, settings["width"]), nn.Embedding(ITEMS, settings["width"])
    for table in (users, items):
        nn.init.normal_(table.weight, 0.0, 5.0 if fault == "tables-too-large" else 0.05)
    decay = 5.0 if fault == "decay-of-five" else settings["decay"]
    optimizer = torch.optim.AdamW([users.weight, items.weight], settings["lr"], weight_decay=decay)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
    with Path("history.csv").open("w", newline="") as file:
        table_of = csv.writer(file)
        table_of.writerow(["epoch", "bpr_loss", "lr", f"recall@{SHOWN}", f"ndcg@{SHOWN}"])
        for epoch in range(1, settings["epochs"] + 1):
            order, losses = pairs[torch.randperm(len(pairs), generator=random)], []
            for batch in order.split(settings["batch_size"]):
                part = pairs[: len(batch)] if fault == "one-batch" else batch
                other = torch.randint(0, ITEMS, (len(part),), generator=random)
                better = items(part[:, 1]) - items(other)
                margin = (users(part[:, 0]) * (-better if fault == "order-reversed" else better)).sum(1)
                loss = -F.logsigmoid(margin).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if fault == "rate-decays-by-batch":
                    schedule.step()
            if fault != "rate-decays-by-batch":
                schedule.step()
            with torch.no_grad():
                recall, gain = measured(users.weight @ items.weight.T, seen, wanted)
            mean, rate = sum(losses) / len(losses), optimizer.param_groups[0]["lr"]
            table_of.writerow([epoch, f"{mean:.6f}", rate, f"{recall:.4f}", f"{gain:.4f}"])
            file.flush()
            if epoch % 5 == 0:
                print(f"epoch {epoch} loss={mean:.4f} recall@{SHOWN}={recall:.4f} ndcg@{SHOWN}={gain:.4f}")


if __name__ == "__main__":
    start(DEFAULTS, train)
