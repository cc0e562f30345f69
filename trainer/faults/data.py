"""Faults in the data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..data.info import IGNORE
from ..model.step import Batch
from ..state.feed import Stream
from .base import Fault


@dataclass
class ZeroLabels(Fault):
    """labels-masked: a share of the rows (strength, 1 is all) has every label ignored, so that nothing is
    left to learn from."""

    cause = "labels-masked"

    def batch(self, step: int, batch: Batch) -> Batch:
        if step < self.step:
            return batch
        masked = round(self.strength * len(batch["labels"]))
        labels = batch["labels"].clone()
        labels[:masked] = IGNORE
        return {**batch, "labels": labels}


@dataclass
class WrongLabels(Fault):
    """wrong-targets: a share of the rows (strength, 1 is all) gets the solution of another row of its
    batch."""

    cause = "wrong-targets"

    def batch(self, step: int, batch: Batch) -> Batch:
        if step < self.step:
            return batch
        count = round(self.strength * len(batch["labels"]))
        labels = batch["labels"].clone()
        labels[:count] = batch["labels"].roll(1, 0)[:count]
        return {**batch, "labels": labels}


@dataclass
class BadBatch(Fault):
    """bad-data-batch: from `@step` on, the tokens of `strength` batches are shuffled, inputs and solutions
    apart."""

    strength: float = 20.0
    step: int = 100
    cause = "bad-data-batch"

    def batch(self, step: int, batch: Batch) -> Batch:
        if not self.step <= step < self.step + self.strength:
            return batch
        random = torch.Generator().manual_seed(step)

        def scrambled(tokens: torch.Tensor) -> torch.Tensor:
            order = torch.randperm(tokens.numel(), generator=random).to(tokens.device)
            return tokens.flatten()[order].view_as(tokens)

        return {**batch, "inputs": scrambled(batch["inputs"]), "labels": scrambled(batch["labels"])}


@dataclass
class Memorize(Fault):
    """memorization: only the first `strength` batches are ever shown, over and over."""

    strength: float = 2.0
    cause = "memorization"

    def source(self, stream: Stream) -> Stream:
        return _Few(stream, max(1, int(self.strength)))


@dataclass
class SlowLoader(Fault):
    """input-pipeline-bound: each batch takes `strength` seconds longer to prepare."""

    strength: float = 0.05
    cause = "input-pipeline-bound"

    def source(self, stream: Stream) -> Stream:
        return _Slow(stream, self.strength)


@dataclass
class LeakData(Fault):
    """host-memory-exhausted: each batch leaves `strength` MiB of host memory behind, as a cache without a
    bound does."""

    strength: float = 4.0
    cause = "host-memory-exhausted"
    kept: list[torch.Tensor] = field(default_factory=list)

    def batch(self, step: int, batch: Batch) -> Batch:
        if step >= self.step:
            self.kept.append(torch.ones(int(self.strength * (1 << 18))))
        return batch


class _Slow:
    def __init__(self, stream: Stream, seconds: float) -> None:
        self.stream, self.seconds = stream, seconds

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        time.sleep(self.seconds)
        return next(self.stream)

    def state_dict(self) -> dict[str, Any]:
        return self.stream.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stream.load_state_dict(state)


class _Few:
    """The first `count` batches of a stream, without end."""

    def __init__(self, stream: Stream, count: int) -> None:
        self.batches = [next(stream) for _ in range(count)]
        self.position = 0

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        self.position += 1
        return self.batches[(self.position - 1) % len(self.batches)]

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = int(state["position"])
