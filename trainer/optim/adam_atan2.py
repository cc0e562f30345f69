"""Adam whose step is an arctangent: the optimizer of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from hrmdoc.errors import ConfigError

from ..model.step import MomentStep


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
        self.moment_step: MomentStep | None = None  # what takes the place of PyTorch's operations

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
        if self.moment_step is not None:
            keep, spread, rate = (
                1 - lr * group["weight_decay"],
                1 / math.sqrt(1 - beta2**step),
                lr / (1 - beta1**step),
            )
            self.moment_step(params, m, v, keep, (beta1, beta2), spread, rate)
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
