"""How large the weights are and how far a step of the optimizer moves them, whatever the optimizer and the
device."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ..parallel.world import World, local


class Movement:
    """Measures single steps: call `before` just before the optimizer and `after` just after it.

    It looks at the weights themselves, so decay, steps that are left out, and steps too small for the
    weights' precision all count as what they did. The puzzle embedding, which has an optimizer of its own, is
    no part of it. Measuring takes a copy of the weights and a few passes over them, and waits for no GPU.

    Args:
        parameters: the model's; of split ones the parts of this process.
        split: whether every process has its own part of them, instead of all of them.
    """

    def __init__(self, parameters: Iterable[Tensor], world: World, *, split: bool) -> None:
        self._weights = [local(parameter).view(-1) for parameter in parameters]
        self._share = 1.0 if split else 1 / world.size
        self._old: Tensor | None = None

    def before(self) -> None:
        """Remembers the weights."""
        self._old = torch.cat(self._weights)

    def after(self) -> Tensor | None:
        """This process's share of the squared norms of the old weights and of the update [2]; None if
        `before` was not called."""
        if self._old is None:
            return None
        old, self._old = self._old, None
        norms = [torch.linalg.vector_norm(values) for values in (old, torch.cat(self._weights).sub_(old))]
        return torch.stack(norms).square_().mul_(self._share)
