"""The gradients of one micro-batch, in PyTorch's operations or by kernels of another make."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler

from .hrm import HRM
from .loss import check_loss, compute_loss, widest_float
from .step import Batch, Carry, Sums


def gradients(
    model: HRM,
    carry: Carry | None,
    batch: Batch,
    divisor: float,
    loss_type: str,
    generator: torch.Generator | None = None,
    precision: AbstractContextManager[object] | None = None,
    scaler: GradScaler | None = None,
) -> tuple[Carry, Sums]:
    """One ACT step of `batch` forward and backward. Adds to the gradients of the parameters those of the loss
    over `divisor`.

    Args:
        carry: the rows in flight, which may be changed in place; None begins with all of `batch`.
        generator: draws the exploration.
        precision: what the forward pass runs within.
        scaler: scales the loss.

    Returns:
        The new carry, and the metrics' sums as `compute_loss` gives them.
    """
    carry = model.initial_carry(batch) if carry is None else carry
    kernels = model.core.kernels
    if kernels is not None:
        check_loss(loss_type)
        rows = len(batch["inputs"])
        explores = model.arch.halt_max_steps > 1
        least_B = model.least_steps(rows, generator) if explores else torch.zeros(rows, dtype=torch.int32)
        return carry, kernels.step(carry, batch, least_B, divisor, loss_type == "stablemax_cross_entropy")
    with precision or nullcontext():
        carry, outputs = model(carry, batch, generator)
        loss, sums = compute_loss(outputs, carry, loss_type)
    loss = loss / divisor
    (loss if scaler is None else scaler.scale(loss)).backward()  # type: ignore[no-untyped-call]
    return carry, Sums(tuple(sums), torch.stack(list(sums.values())).to(widest_float(loss.device)))


def gradient_norm(model: HRM, parameters: list[Tensor]) -> Tensor:
    """The norm of the gradients of a model's `parameters`."""
    found = [p.grad for p in parameters if p.grad is not None]
    kernels = model.core.kernels
    if kernels is not None and len(found) == len(parameters):
        norm: Tensor = torch.linalg.vector_norm(kernels.gradients)  # they are views of it
        return norm
    return torch.nn.utils.get_total_norm(found)
