"""The weights of a policy as one vector, whole in each process or in parts, and how they change."""

from __future__ import annotations

import threading

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ..parallel.world import World


class Weights:
    """What the optimizer changes.

    Args:
        policy: whose weights they are; all processes begin with the same.
        lr: of AdamW.
        sharded: each process keeps and changes a part, and the whole is gathered each time that it is used.
    """

    def __init__(self, policy: nn.Module, world: World, lr: float, *, sharded: bool) -> None:
        self.world, self.sharded = world, sharded and world.size > 1
        flat = parameters_to_vector(policy.parameters()).detach().clone()
        self.count = len(flat)
        if self.sharded:
            flat = self._part(flat).clone()
        self.own = nn.Parameter(flat)
        self._lock = threading.Lock()
        self.optimizer = torch.optim.AdamW([self.own], lr=lr, weight_decay=0.0)

    def _part(self, flat: Tensor) -> Tensor:
        """This process's part of a vector, all parts being of one length."""
        size = self.world.size
        padded = torch.nn.functional.pad(flat, (0, -len(flat) % size))
        return padded.chunk(size)[self.world.rank]

    def into(self, policy: nn.Module) -> None:
        """Gives `policy` the weights of now, from whichever thread."""
        with self._lock:
            own = self.own.detach().clone()
        if self.sharded:
            parts = [torch.empty_like(own) for _ in range(self.world.size)]
            dist.all_gather(parts, own)
            own = torch.cat(parts)[: self.count]
        vector_to_parameters(own, policy.parameters())

    def step(self, loss: Tensor, policy: nn.Module, clip: float) -> float:
        """One step down the gradient of `loss`, averaged over the processes and clipped; its norm."""
        policy.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        flat = torch.cat([one.grad.flatten() for one in policy.parameters() if one.grad is not None])
        if self.world.size > 1:
            dist.all_reduce(flat)
            flat /= self.world.size
        norm = float(flat.norm())
        flat *= min(1.0, clip / (norm + 1e-6))
        with self._lock:
            self.own.grad = self._part(flat) if self.sharded else flat
            self.optimizer.step()
        return norm
