"""The loss of one ACT step and the sums that the metrics are made of.

A row is a puzzle. Every returned number is a raw sum over rows, so that ranks and batches add up; the caller
divides.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from hrmdoc.errors import ConfigError, did_you_mean

from ..data.info import IGNORE
from .step import Batch, Carry

_TINY = 1e-30  # keeps 1 / (1 - x) finite in the branch that is not taken


def widest_float(device: torch.device | str) -> torch.dtype:
    """float64 where the device has it; Apple's GPUs do not."""
    return torch.float32 if torch.device(device).type == "mps" else torch.float64


def stablemax_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy, in the shape of `labels`, of logits [..., V] under stablemax; 0 where the label is
    ignored.

    Stablemax grows linearly instead of exponentially: s(x) = x + 1 for x >= 0, 1 / (1 - x) below; p = s /
    sum(s), in the widest float. Prieto et al., arXiv 2501.04697.
    """
    x = logits.to(widest_float(logits.device))
    s = torch.where(x < 0, 1 / (1 - x + _TINY), x + 1)
    valid = labels != IGNORE
    index = labels.masked_fill(~valid, 0).long().unsqueeze(-1)
    p = s.gather(-1, index).squeeze(-1) / s.sum(-1)
    return torch.where(valid, -p.log(), 0)


def softmax_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy, in the shape of `labels`, of logits [..., V] under softmax in float32; 0 where the label
    is ignored."""
    flat = F.cross_entropy(
        logits.float().flatten(0, -2), labels.long().flatten(), ignore_index=IGNORE, reduction="none"
    )
    return flat.view(labels.shape)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "stablemax_cross_entropy": stablemax_cross_entropy,
    "softmax_cross_entropy": softmax_cross_entropy,
}


def check_loss(loss_type: str) -> None:
    """Raises ConfigError for a loss that does not exist."""
    if loss_type not in LOSSES:
        raise ConfigError(
            f"unknown loss_type {loss_type!r}",
            hint=did_you_mean(loss_type, LOSSES) or f"one of: {', '.join(LOSSES)}",
        )


def at_all_places(values: Tensor, outputs: Batch, shape: torch.Size) -> Tensor:
    """`values`, one for each position that `outputs` has logits of, in [B, S]; 0 at the other positions."""
    if "places" not in outputs:
        return values
    return values.new_zeros(shape.numel()).index_copy(0, outputs["places"], values).view(shape)


def compute_loss(
    outputs: dict[str, Tensor], carry: Carry, loss_type: str = "stablemax_cross_entropy"
) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss and metrics of one ACT step.

    Args:
        outputs, carry: as `HRM.forward` returned them. Labels come from the carry: rows in flight keep their
            puzzle.
        loss_type: 'stablemax_cross_entropy' or 'softmax_cross_entropy'.

    Returns:
        The loss summed over rows (divide by the global batch size before `backward`), and 0-d tensors, all
        raw sums: count, accuracy, exact_accuracy, q_halt_accuracy, steps over the rows that halted in this
        step and have a label; lm_loss, q_halt_loss and, in training, q_continue_loss over all rows. A row
        without any label (the padding of a short evaluation batch) has no right answer and adds nothing.
    """
    check_loss(loss_type)
    labels_BS, logits, q_halt = carry.current_data["labels"], outputs["logits"], outputs["q_halt_logits"]
    labels = labels_BS.flatten()[outputs["places"]] if "places" in outputs else labels_BS
    with torch.no_grad():
        valid_BS = labels_BS != IGNORE
        counts_B = valid_BS.sum(-1)
        labelled_B = counts_B > 0
        divisor_B = counts_B.clamp(min=1)
        right_B = at_all_places(
            (labels != IGNORE) & (logits.argmax(-1) == labels), outputs, labels_BS.shape
        ).sum(-1)
        exact_B = right_B == counts_B
        done_B = carry.halted & labelled_B
        metrics = {
            "count": done_B.sum(),
            "accuracy": (right_B / divisor_B * done_B).sum(),
            "exact_accuracy": (done_B & exact_B).sum(),
            "q_halt_accuracy": (done_B & ((q_halt >= 0) == exact_B)).sum(),
            "steps": (carry.steps * done_B).sum(),
        }
    losses_BS = at_all_places(LOSSES[loss_type](logits, labels), outputs, labels_BS.shape)
    lm_loss = (losses_BS / divisor_B.unsqueeze(-1)).sum()
    weight_B = labelled_B.to(q_halt.dtype)
    q_loss = F.binary_cross_entropy_with_logits(q_halt, exact_B.to(q_halt.dtype), weight_B, reduction="sum")
    metrics |= {"lm_loss": lm_loss.detach(), "q_halt_loss": q_loss.detach()}
    if "target_q_continue" in outputs:
        if "q_continue_rows" in outputs:
            weight_B = weight_B * outputs["q_continue_rows"]
        going_on = F.binary_cross_entropy_with_logits(
            outputs["q_continue_logits"], outputs["target_q_continue"], weight_B, reduction="sum"
        )
        metrics["q_continue_loss"] = going_on.detach()
        q_loss = q_loss + going_on
    return lm_loss + 0.5 * q_loss, metrics
