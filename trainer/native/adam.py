"""A step of `AdamATan2` in C."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from .places import library, pointers


def adam_atan2(
    params: list[Tensor],
    m: Tensor,
    v: Tensor,
    keep: float,
    betas: tuple[float, float],
    spread: float,
    rate: float,
) -> None:
    """p = p * keep - rate * atan2(m, spread * sqrt(v)) for all `params`, after their gradients went into
    the flat m and v."""
    grads = [torch.zeros_like(p) if p.grad is None else p.grad.contiguous() for p in params]
    sizes = (ctypes.c_long * len(params))(*(p.numel() for p in params))
    numbers = (keep, 1 - betas[0], 1 - betas[1], spread, rate)
    library().adam_atan2(
        len(params), sizes, pointers(params), pointers(grads), m.data_ptr(), v.data_ptr(), *numbers
    )
    torch.autograd.graph.increment_version(params)
