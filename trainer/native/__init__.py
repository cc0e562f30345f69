"""A small model in C on one CPU thread (`kernels/`), instead of in PyTorch's operations.

The C compiler of the machine builds the kernels when they are first wanted, which takes seconds; the result
is kept in the user's cache folder. Where there is no compiler, or the model is of another kind, PyTorch's
operations do the same work. The model knows of it only `model.step.Kernels`.
"""

from __future__ import annotations

import torch

from hrmdoc.errors import ConfigError

from ..model.hrm import HRM
from .kernels import CKernels
from .level import STRIP
from .pace import pace
from .places import library

__all__ = ["attach", "library", "obstacle", "pace"]


def obstacle(
    hidden_size: int, *, causal: bool, mlp_t: bool, dtype: torch.dtype = torch.float32
) -> str | None:
    """Why the kernels cannot train a model like this, or None."""
    if dtype != torch.float32:
        return "they compute in float32"
    if causal or mlp_t:
        return "they know neither a causal model nor one without attention"
    return f"the hidden size {hidden_size} is no multiple of {STRIP}" if hidden_size % STRIP else None


def attach(model: HRM) -> None:
    """From now on training steps and evaluation of `model` run in C, on the CPU, in float32, as before but
    for rounding.

    Raises:
        ConfigError: the kernels cannot be built, or cannot train this model.
    """
    arch = model.arch
    why = obstacle(arch.hidden_size, causal=arch.causal, mlp_t=arch.mlp_t, dtype=model.dtype)
    if why is not None:
        raise ConfigError(f"the native kernels cannot train this model: {why}", hint="native=false")
    model.core.kernels = CKernels(model)
