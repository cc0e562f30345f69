"""Compute by counting: the floating-point operations of a training step, and how fast they go here."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from .budget import cpu_s

TIMED = 3


def count(step: Callable[[], object]) -> int:
    """Floating-point operations of the matrix products of `step`, two a multiply-add, as PyTorch counts
    them."""
    # Attention in plain products: those of its fused kernels are not all counted.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def cpu_seconds(step: Callable[[], object]) -> float:
    """CPU seconds of one `step`: the mean of a few, after one that is not counted. By the clock where another
    device computes."""
    step()
    began, clock = cpu_s(), time.perf_counter()
    for _ in range(TIMED):
        step()
    return (
        max(cpu_s() - began, 1e-6) / TIMED
        if not torch.cuda.is_available()
        else (time.perf_counter() - clock) / TIMED
    )


def fingerprint(named: Iterable[tuple[str, Tensor]]) -> str:
    """sha256 of tensors: equal where every bit is."""
    digest = hashlib.sha256()
    for name, tensor in sorted(named):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
