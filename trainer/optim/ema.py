"""An exponential moving average of the weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hrmdoc.errors import ConfigError

from ..parallel.world import local


class EMA:
    """Exponential moving average of a model's parameters; buffers (the puzzle table, the initial states) are
    not averaged."""

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        if not 0 <= decay < 1:
            raise ConfigError(f"ema decay {decay} must lie in [0, 1)")
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self._live: list[Tensor] = [local(p) for p in model.parameters()]
        self.average = [p.detach().clone() for p in self._live]

    @torch.no_grad()
    def update(self) -> None:
        """Moves the average towards the parameters; call it after each optimizer step."""
        torch._foreach_lerp_(self.average, self._live, 1 - self.decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the model computes with the average; afterwards it has its own parameters
        again."""
        own = [p.detach().clone() for p in self._live]
        self._copy(self.average)
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        torch._foreach_copy_(self._live, values)

    def state_dict(self) -> dict[str, Any]:
        return {"decay": self.decay, "average": dict(zip(self.names, self.average, strict=True))}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.decay = state["decay"]
        for name, tensor in zip(self.names, self.average, strict=True):
            tensor.copy_(state["average"][name])
