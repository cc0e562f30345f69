"""The layers of HRM. All parameters are stored in float32 and cast to the activation's dtype where they are
used.

Shape suffixes: B batch, S sequence, D hidden size, H heads, K size of a head, F inner size of the MLP.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def trunc_normal(*shape: int, std: float, dtype: torch.dtype | None = None) -> Tensor:
    """A normal sample truncated at two sigma whose standard deviation is `std` *after* truncation.

    `torch.nn.init.trunc_normal_` returns less than the deviation asked for (0.88 of it at two sigma); JAX
    corrects for that, and HRM follows JAX. The sample is drawn by the inverse of the distribution function.
    """
    if std == 0:
        return torch.zeros(*shape, dtype=dtype)
    inside = math.erf(math.sqrt(2.0))  # P(|x| < 2 sigma)
    density = math.exp(-2.0) / math.sqrt(2.0 * math.pi)  # at two sigma
    sigma = std / math.sqrt(1.0 - 4.0 * density / inside)
    sample = torch.empty(*shape).uniform_(-inside, inside).erfinv_().mul_(math.sqrt(2.0) * sigma)
    return sample.clamp_(-2.0 * sigma, 2.0 * sigma).to(dtype)


def cast(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """`weight` in `dtype`; itself, without a dispatch, when it is so already."""
    return weight if weight.dtype == dtype else weight.to(dtype)


class Linear(nn.Module):
    """`x @ weight.T + bias` with LeCun-normal weights [out, in] and a zero bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(trunc_normal(out_features, in_features, std=in_features**-0.5))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(
            x, cast(self.weight, x.dtype), None if self.bias is None else cast(self.bias, x.dtype)
        )


class Embedding(nn.Module):
    """Rows of a table [count, size], looked up by index and cast to `dtype`."""

    def __init__(self, count: int, size: int, std: float, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(trunc_normal(count, size, std=std))
        self.dtype = dtype

    def forward(self, index: Tensor) -> Tensor:
        return F.embedding(index, cast(self.weight, self.dtype))


def rms_norm(x: Tensor, eps: float) -> Tensor:
    """`x` over the root mean square of its last axis, computed in float32, without a learned scale."""
    if x.dtype == torch.float32:
        return F.rms_norm(x, x.shape[-1:], eps=eps)
    return F.rms_norm(x.float(), x.shape[-1:], eps=eps).to(x.dtype)


def inner_size(size: int, expansion: float) -> int:
    """Inner size of a SwiGLU: 2/3 of `expansion * size` (the gate is a third matrix), rounded up to a
    multiple of 256."""
    return -(-round(expansion * size * 2 / 3) // 256) * 256


class SwiGLU(nn.Module):
    """`down(silu(gate(x)) * up(x))` over the last axis, gate and up fused."""

    def __init__(self, size: int, expansion: float) -> None:
        super().__init__()
        inner = inner_size(size, expansion)
        self.gate_up = Linear(size, 2 * inner)
        self.down = Linear(inner, size)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)  # type: ignore[no-any-return]
