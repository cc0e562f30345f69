"""Compute by counting: the floating-point operations of a training step, and how fast they go here."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..data import DataInfo
from ..model.arch import ArchConfig
from ..model.hrm import HRM
from ..model.loss import compute_loss
from ..model.step import Batch
from .budget import cpu_s

TIMED, LONG_S = 3, 2.0


def count(step: Callable[[], object]) -> int:
    """Floating-point operations of the matrix products of `step`, two a multiply-add, as PyTorch counts
    them."""
    # Attention in plain products: those of its fused kernels are not all counted.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def random_batch(info: DataInfo, rows: int, device: torch.device | str, seed: int = 0) -> Batch:
    """Random tokens in the shape of a batch of training."""
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, info.vocab_size, (2, rows, info.seq_len), generator=draw, dtype=torch.int32)
    ids = torch.zeros(rows, dtype=torch.int32)
    return {
        key: value.to(device)
        for key, value in zip(("inputs", "labels", "puzzle_identifiers"), (*tokens, ids), strict=True)
    }


def step_flops(arch: ArchConfig, info: DataInfo, rows: int) -> int:
    """Floating-point operations of the matrix products of one step (forward, Q-target, backward); two a
    multiply-add."""
    batch = random_batch(info, rows, "meta")
    with torch.device("meta"):
        model = HRM(arch, info, rows, attention="naive").train()
        model.labelled_only = (
            False  # of random_batch every position is labelled, and here labels have no values
        )
        with FlopCounterMode(display=False) as counter:
            carry, outputs = model(model.initial_carry(batch), batch)
            compute_loss(outputs, carry, arch.loss_type)[0].backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())


def cost(step: Callable[[], object]) -> tuple[int, float]:
    """Floating-point operations of a step, and its CPU seconds (by the clock where another device
    computes). A long one is taken once, for both."""
    clock = time.perf_counter if torch.cuda.is_available() else cpu_s
    began = clock()
    flops = count(step)
    seconds = clock() - began
    if seconds < LONG_S:
        began = clock()
        for _ in range(TIMED):
            step()
        seconds = (clock() - began) / TIMED
    return flops, max(seconds, 1e-6)


def fingerprint(named: Iterable[tuple[str, Tensor]]) -> str:
    """sha256 of tensors: equal where every bit is."""
    digest = hashlib.sha256()
    for name, tensor in sorted(named):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
