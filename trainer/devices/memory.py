"""Whether memory ran out, on whatever device."""

from __future__ import annotations

import torch


def out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that the device's or the host's memory ran out."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        part in str(error).lower() for part in ("out of memory", "can't allocate memory", "not enough memory")
    )
