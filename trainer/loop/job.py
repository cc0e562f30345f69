"""What the training loop works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..config.schema import TrainConfig
from ..data import PuzzleData
from ..devices.plan import Plan
from ..faults.base import Fault
from ..parallel.world import World
from ..rundir.directory import RunDir
from ..state.keeper import Keeper
from ..state.state import TrainState


@dataclass
class Job:
    """One run, built and ready.

    Attributes:
        test: the split that is evaluated, or None without one.
        total_steps: the last step.
        eval_steps: steps between evaluations; need not be whole, HRM counts epochs.
        world: this process among those of the run.
        progress: called with the step and its metrics whenever metrics were fetched.
    """

    config: TrainConfig
    plan: Plan
    run: RunDir
    state: TrainState
    keeper: Keeper
    fault: Fault
    test: PuzzleData | None
    total_steps: int
    eval_steps: float
    world: World = field(default_factory=World)
    progress: Callable[[int, Mapping[str, float]], None] = lambda step, values: None  # noqa: ARG005
