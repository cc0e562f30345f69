"""The optimizers of HRM, its learning rate schedule, and an exponential moving average of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hrmdoc.errors import ConfigError

from ..model.sparse import SparseEmbedding
from ..native import native
from ..parallel.world import World, local


def cosine_schedule(step: int, base: float, warmup: int, total: int, min_ratio: float) -> float:
    """Learning rate of `step` (the first is 1): linear warmup, then a cosine from `base` to `min_ratio *
    base` at `total`."""
    if step < warmup:
        return base * step / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return base * (min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


class AdamATan2(torch.optim.Optimizer):
    """Adam whose step is atan2(m, sqrt(v)): no epsilon, invariant to the gradient's scale, at most lr * pi /
    2 an element.

    Everett et al., "Scaling Exponents Across Parameterizations and Optimizers", arXiv 2407.05872. Decay is
    decoupled and applies to every parameter. The moments of a group live in one flat buffer (the entries of
    `state` are views of it), so a step costs a handful of kernels whatever the number of parameters. A
    parameter without a gradient counts as gradient 0.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.95),
        weight_decay: float = 0.1,
    ) -> None:
        if not all(0 <= beta < 1 for beta in betas):
            raise ConfigError(f"betas {betas} must lie in [0, 1)")
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "step": 0})
        self._moments: dict[int, tuple[Tensor, Tensor]] = {}
        self.native = False  # whether a step is one of the kernels in C: float32, on the CPU

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._moments = {}

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            self._step_group(index, group)
        return loss

    def _step_group(self, index: int, group: dict[str, Any]) -> None:
        params: list[Tensor] = group["params"]
        if index not in self._moments:
            self._moments[index] = self._flatten(params)
        m, v = self._moments[index]
        group["step"] += 1
        beta1, beta2 = group["betas"]
        lr, step = group["lr"], group["step"]
        if self.native:
            keep, spread, rate = (
                1 - lr * group["weight_decay"],
                1 / math.sqrt(1 - beta2**step),
                lr / (1 - beta1**step),
            )
            native.adam_atan2(params, m, v, keep, (beta1, beta2), spread, rate)
            return
        grad = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in params])
        m.lerp_(grad, 1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        torch.sqrt(v, out=grad).div_(math.sqrt(1 - beta2**step))
        update = torch.atan2(m, grad, out=grad)
        updates = [
            part.view_as(p)
            for part, p in zip(torch.split(update, [p.numel() for p in params]), params, strict=True)
        ]
        torch._foreach_mul_(params, 1 - lr * group["weight_decay"])
        torch._foreach_add_(params, updates, alpha=-lr / (1 - beta1**step))

    def _flatten(self, params: list[Tensor]) -> tuple[Tensor, Tensor]:
        """One buffer per moment, filled from `state` where a checkpoint left something, with the entries
        turned into views."""
        flat = []
        for key in ("exp_avg", "exp_avg_sq"):
            old = [self.state[p].get(key) for p in params]
            buffer = torch.cat(
                [
                    (torch.zeros_like(p) if x is None else x).reshape(-1)
                    for x, p in zip(old, params, strict=True)
                ]
            )
            for part, p in zip(torch.split(buffer, [p.numel() for p in params]), params, strict=True):
                self.state[p][key] = part.view_as(p)
            flat.append(buffer)
        return flat[0], flat[1]


class SignSGD:
    """Sign descent with decoupled decay on the rows of a `SparseEmbedding` that the last batch touched.

    Gradients of rows that occur several times in the batch, on any rank, are summed before the sign is taken.
    The other rows do not move and do not decay. It keeps nothing from step to step, so it is no
    `torch.optim.Optimizer`.
    """

    def __init__(self, embedding: SparseEmbedding, lr: float = 1e-2, weight_decay: float = 0.1) -> None:
        self.embedding, self.lr, self.weight_decay = embedding, lr, weight_decay
        self.world = World()

    @torch.no_grad()
    def step(self) -> None:
        """Moves the rows and forgets their gradient."""
        table, grad, ids = self.embedding.table, self.embedding.rows.grad, self.embedding.row_ids
        if grad is None:
            return
        self.embedding.rows.grad = None
        lr, decay = self.lr, self.weight_decay
        if len(table) == 1:  # one puzzle, as in Sudoku: every gradient is its own
            table.mul_(1 - lr * decay).add_(self.world.gather(grad).sum(0).sign_(), alpha=-lr)
            return
        grad, ids = self.world.gather(grad), self.world.gather(ids)
        # A 0/1 matrix of equal ids sums duplicates in a fixed order and without asking the device how many
        # there are.
        same = (ids.unsqueeze(0) == ids.unsqueeze(1)).to(grad.dtype)
        first = same.argmax(1)
        total = (same @ grad)[
            first
        ]  # identical bits for duplicates: which of them is written last does not matter
        table.index_copy_(0, ids, table[ids].mul_(1 - lr * decay).add_(total.sign_(), alpha=-lr))


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
