"""What goes into an ACT step and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

Batch = dict[str, Tensor]


@dataclass
class Carry:
    """What one ACT step hands to the next, a row per puzzle in flight.

    z_H, z_L: [B, S, D] in the forward dtype. steps: int32 [B], ACT steps taken. halted: bool [B], the row is
    replaced at the next call. current_data: the batch of puzzles in flight. q_state: [B, D], what the Q head
    read in this step; only with `q_target='reuse'`.
    """

    z_H: Tensor
    z_L: Tensor
    steps: Tensor
    halted: Tensor
    current_data: Batch
    q_state: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Sums:
    """The metrics' sums of a micro-batch, by name, as one tensor [len(names)] on the device, in its widest
    float."""

    names: tuple[str, ...]
    values: Tensor

    def __getitem__(self, name: str) -> Tensor:
        return self.values[self.names.index(name)]


MomentStep = Callable[[list[Tensor], Tensor, Tensor, float, tuple[float, float], float, float], None]
"""Parameters, their two moments (flat), what is kept of them, the betas, the spread, the rate."""


class Kernels(Protocol):
    """What may take the place of PyTorch's operations in a model: the same results but for rounding."""

    gradients: Tensor
    """The gradients of all the model's parameters, of which every `grad` is a view."""
    adam_atan2: MomentStep
    """A step of `AdamATan2`."""

    def passes(self, z_L: Tensor, z_H: Tensor, x_BSD: Tensor, plan: str) -> tuple[Tensor, Tensor]:
        """The states after passes without gradient, one for each letter of `plan`; h is H at position 0."""

    def step(self, carry: Carry, batch: Batch, least_B: Tensor, divisor: float, stablemax: bool) -> Sums:
        """One ACT step forward and backward, in place."""
