"""The gradients of one step of the text classifier: mixed precision, loss scale, micro-batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from .network import Classifier

PrecisionName = Literal["fp32", "bf16", "fp16"]
DTYPES: dict[PrecisionName, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Precision:
    """In what the forward and backward pass compute, weights being fp32.

    Attributes:
        name: fp32, bf16 or fp16; the latter two by autocast.
        loss_scale: the factor of the loss in the backward pass, taken off the gradients afterwards. It is
            constant: a step whose gradients overflow is not skipped.
    """

    name: PrecisionName = "fp32"
    loss_scale: float = 1.0

    def autocast(self) -> torch.autocast:
        """What the forward pass runs within."""
        return torch.autocast("cpu", dtype=DTYPES[self.name], enabled=self.name != "fp32")


def gradients(
    model: Classifier,
    words: Tensor,
    topics: Tensor,
    precision: Precision,
    *,
    accumulate: int,
    smoothing: float,
    balance: float,
) -> tuple[float, float]:
    """Leaves the clipped gradients of a batch in `model`.

    Args:
        words, topics: word numbers [items, L] and topics [items].
        accumulate: in how many micro-batches the batch is taken.
        smoothing, balance: of the labels, and the weight of the experts' imbalance.

    Returns:
        Loss and gradient norm.
    """
    model.train()
    model.zero_grad()
    total = 0.0
    for some, right in zip(words.chunk(accumulate), topics.chunk(accumulate), strict=True):
        share = len(some) / len(words)
        with precision.autocast():
            loss = F.cross_entropy(model(some).float(), right, label_smoothing=smoothing)
            whole = (loss + balance * model.imbalance()) * share * precision.loss_scale
        whole.backward()  # type: ignore[no-untyped-call]
        total += loss.item() * share
    if precision.loss_scale != 1.0:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= precision.loss_scale
    return total, torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item()
