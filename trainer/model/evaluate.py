"""Evaluation: every puzzle with the full number of ACT steps, as HRM is scored."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ..data.info import IGNORE
from ..data.iterate import EvalBatch
from .hrm import HRM
from .loss import at_all_places, compute_loss, widest_float
from .step import Batch

Metrics = dict[str, dict[str, float]]
SMALL = 127  # tokens that a byte holds, beside the mark of those that do not count: ARC has some 10^8


@torch.no_grad()
def evaluate(
    model: HRM,
    batches: Iterable[EvalBatch],
    device: torch.device | str = "cpu",
    predictions: Path | None = None,
) -> Metrics:
    """Scores `model` on `batches`.

    Args:
        batches: as `test_batches` gives them; on several ranks each rank its own slices.
        device: where the model is.
        predictions: a file (.npz) to save inputs, labels, predicted tokens and halting values to, per set.

    Returns:
        For each set the means over its puzzles: accuracy (of cells), exact_accuracy (of whole puzzles, the
            number to read),
        q_halt_accuracy, steps (always halt_max_steps), lm_loss, q_halt_loss; and count, the number of
        puzzles. All ranks get the same numbers. A set without any labelled puzzle has the count 0 and NaN for
        the rest.
    """
    training, wide = model.training, widest_float(device)
    model.eval()
    sums: dict[str, dict[str, Tensor]] = {}
    saved: dict[str, list[np.ndarray]] = {}
    try:
        for name, host_batch in batches:
            batch = {key: value.to(device, non_blocking=True) for key, value in host_batch.items()}
            outputs, metrics = _score(model, batch)
            total = sums.setdefault(
                name, {key: torch.zeros((), dtype=wide, device=device) for key in metrics}
            )
            for key, value in metrics.items():
                total[key] += value
            if predictions is not None:
                _save_rows(saved, name, batch, outputs, small=model.data.vocab_size <= SMALL)
    finally:
        model.train(training)
    if predictions is not None:
        np.savez_compressed(predictions, **{key: np.concatenate(parts) for key, parts in saved.items()})  # type: ignore[arg-type]
    return {name: _means(total) for name, total in sums.items()}


def _score(model: HRM, batch: Batch) -> tuple[Batch, dict[str, Tensor]]:
    carry = model.initial_carry(batch)
    for _ in range(model.arch.halt_max_steps):
        carry, outputs = model(carry, batch)
    return outputs, compute_loss(outputs, carry, model.arch.loss_type)[1]


def _means(total: dict[str, Tensor]) -> dict[str, float]:
    values = torch.stack(list(total.values()))
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(values)
    sums = dict(zip(total, values.tolist(), strict=True))
    count = sums.pop("count")
    return {"count": count} | {key: value / count if count else float("nan") for key, value in sums.items()}


def _save_rows(
    saved: dict[str, list[np.ndarray]], name: str, batch: Batch, outputs: Batch, *, small: bool
) -> None:
    predictions = at_all_places(outputs["logits"].argmax(-1), outputs, batch["labels"].shape)
    rows = batch | {"predictions": predictions, "q_halt_logits": outputs["q_halt_logits"]}
    real = (batch["labels"] != IGNORE).any(1)
    for key, value in rows.items():
        if small and key in ("inputs", "labels", "predictions"):
            value = value.to(torch.int8)
        saved.setdefault(f"{name}__{key}", []).append(value[real].cpu().numpy())
