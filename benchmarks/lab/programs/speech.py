"""Noisy frames to phones with a CTC loss, through Python's logging."""

from __future__ import annotations

import logging
import sys
from typing import Any

import torch
import torch.nn.functional as F
from authored import start
from torch import Tensor, nn

PHONES, WIDTH = 12, 16
DEFAULTS: dict[str, Any] = {"lr": 3e-3, "epochs": 6, "batch_size": 24, "samples": 800, "short_first": 0}
log = logging.getLogger("asr.train")
Utterance = tuple[Tensor, Tensor]


def utterances(count: int, random: torch.Generator) -> list[Utterance]:
    """Frames [n, WIDTH] and phones [m], 0 being silence."""
    sounds = torch.randn(PHONES, WIDTH, generator=torch.Generator().manual_seed(5))
    found = []
    for _ in range(count):
        phones = torch.randint(
            1, PHONES, (int(torch.randint(3, 9, (1,), generator=random)),), generator=random
        )
        lengths = torch.randint(2, 5, (len(phones),), generator=random)
        pauses = torch.randint(0, 3, (len(phones),), generator=random)
        pieces = [
            torch.cat([sounds[phone].expand(length, -1), sounds[0].expand(pause, -1)])
            for phone, length, pause in zip(phones.tolist(), lengths.tolist(), pauses.tolist(), strict=True)
        ]
        frames = torch.cat(pieces)
        found.append((frames + 0.7 * torch.randn(frames.shape, generator=random), phones))
    return found


class Recognizer(nn.Module):
    """A layer that reads both ways, and odds of phones for each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.GRU(WIDTH, 32, bidirectional=True, batch_first=True)
        self.head = nn.Linear(64, PHONES)

    def forward(self, frames: Tensor) -> Tensor:
        odds: Tensor = self.head(self.encoder(frames)[0])
        return odds.log_softmax(-1)


def loss_of(
    net: Recognizer, batch: list[Utterance], blank: int = 0, shuffled: bool = False
) -> tuple[Tensor, Tensor]:
    """The loss, and the logarithms of odds [batch, frames, PHONES]."""
    frames = nn.utils.rnn.pad_sequence([one for one, _ in batch], batch_first=True)
    phones = torch.cat([one for _, one in batch])
    phones = phones[torch.randperm(len(phones))] if shuffled else phones
    lengths = torch.tensor([len(one) for one, _ in batch])
    wanted = torch.tensor([len(one) for _, one in batch])
    odds = net(frames)
    return F.ctc_loss(odds.transpose(0, 1), phones, lengths, wanted, blank, zero_infinity=True), odds


def distance(one: list[int], other: list[int]) -> int:
    """Insertions, deletions and substitutions from one to the other."""
    row = list(range(len(other) + 1))
    for place, wanted in enumerate(one, 1):
        above, row = row, [place]
        for at, given in enumerate(other, 1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (wanted != given)))
    return row[-1]


def measured(net: Recognizer, held_out: list[Utterance]) -> tuple[float, float]:
    """Loss, and errors as a share of the phones."""
    with torch.no_grad():
        loss, odds = loss_of(net, held_out)
    wrong = 0
    for row, (frames, phones) in zip(odds.argmax(-1), held_out, strict=True):
        said = torch.unique_consecutive(row[: len(frames)]).tolist()
        wrong += distance([one for one in said if one], phones.tolist())
    return loss.item(), wrong / sum(len(phones) for _, phones in held_out)


def train(settings: dict[str, Any], fault: str, seed: int) -> None:
    """The loop."""
    shape = "%(asctime)s [%(levelname)s] %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=shape)
    random = torch.Generator().manual_seed(seed)
    data, held_out, net = utterances(settings["samples"], random), utterances(100, random), Recognizer()
    if fault == "frozen-encoder":
        for weight in net.encoder.parameters():
            weight.requires_grad_(False).mul_(0.02)
    rate, size = 0.4 if fault == "rate-too-high" else settings["lr"], settings["batch_size"]
    optimizer = torch.optim.Adam(net.parameters(), rate, weight_decay=1.0 if fault == "decay-of-one" else 0.0)
    steps = settings["epochs"] * (len(data) // size)
    schedule: Any = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    if fault == "rate-decays-by-batch":
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.8)
    step = 0
    log.info("training on %d utterances, dev %d, batch size %d", len(data), len(held_out), size)
    for epoch in range(1, settings["epochs"] + 1):
        order = torch.randperm(len(data), generator=random).tolist()
        if epoch == settings["short_first"]:
            order.sort(key=lambda at: len(data[at][1]))
        losses = []
        for begin in range(0, len(data) - size + 1, size):
            batch = [data[at] for at in order[begin : begin + size]]
            blank = PHONES - 1 if fault == "other-blank" else 0
            loss, _ = loss_of(net, batch, blank, fault == "phones-shuffled")
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            step += 1
            losses.append(loss.item())
            if step % 10 == 0:
                now = optimizer.param_groups[0]["lr"]
                log.info(
                    "epoch %d step %d loss %.4f grad_norm %.3f lr %.2e", epoch, step, losses[-1], norm, now
                )
        whole, (lost, wrong) = sum(losses) / len(losses), measured(net, held_out)
        log.info(
            "epoch %d done. train loss %.4f dev loss %.4f dev PER %.2f%%", epoch, whole, lost, 100 * wrong
        )


if __name__ == "__main__":
    start(DEFAULTS, train)
