"""The random number generators that training draws from."""

from __future__ import annotations

import random

import numpy as np
import torch


def seed_all(seed: int) -> None:
    """Seeds every generator that a step may draw from."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # third-party code draws from the global one
    torch.manual_seed(seed)


def rng_state(generator: torch.Generator) -> dict[str, torch.Tensor]:
    """The generators that training draws from: torch's on each device, and the one of the exploration."""
    state = {"torch": torch.get_rng_state(), "generator": generator.get_state()}
    if generator.device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(generator: torch.Generator, state: dict[str, torch.Tensor]) -> None:
    """Puts the generators back where they were. Their states live on the host whatever the device."""
    torch.set_rng_state(state["torch"].cpu())
    generator.set_state(state["generator"].cpu())
    if "cuda" in state and generator.device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"].cpu())
