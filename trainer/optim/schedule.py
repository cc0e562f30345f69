"""The learning rate over the steps of a run."""

from __future__ import annotations

import math


def cosine_schedule(step: int, base: float, warmup: int, total: int, min_ratio: float) -> float:
    """Learning rate of `step` (the first is 1): linear warmup, then a cosine from `base` to `min_ratio *
    base` at `total`."""
    if step < warmup:
        return base * step / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return base * (min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
