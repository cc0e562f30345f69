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

    def logs(self, step: int) -> bool:
        """Whether a line of the log is due after `step`."""
        return step % self.config.log_interval == 0 or step == self.total_steps

    def evaluates(self, step: int) -> bool:
        """Whether the test split is scored after `step`."""
        return self.test is not None and self._ends_interval(step)

    def saves(self, step: int) -> bool:
        """Whether a checkpoint is due after `step`."""
        interval = self.config.checkpoint_interval
        at_evaluation = self.config.checkpoint_every_eval and self._ends_interval(step)
        return (interval is not None and step % interval == 0) or at_evaluation or step == self.total_steps

    def _ends_interval(self, step: int) -> bool:
        """Whether an interval between evaluations ends with `step`; intervals need not be whole steps."""
        return int(step / self.eval_steps) > int((step - 1) / self.eval_steps) or step == self.total_steps
