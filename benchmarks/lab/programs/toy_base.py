"""Where a fault may reach into a small program: hooks that change nothing unless a fault overrides them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from toy import Config, Data, State


@dataclass
class Fault:
    """Hooks that change nothing. `onset` is the first step affected, `resume_at` the step behind which the
    run is resumed."""

    strength: float = 1.0
    onset: int = 1
    resume_at: int = 0

    def config(self, config: Config) -> Config:
        return config

    def second_config(self, config: Config) -> Config:
        return config

    def data(self, data: Data, config: Config) -> Data:
        del config
        return data

    def built(self, state: State) -> None: ...

    def saved(self, path: Path) -> None: ...

    def resumed(self, state: State) -> None: ...

    def before_step(self, state: State) -> None: ...

    def batch(self, state: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        del state
        return x, y

    def lr(self, state: State, lr: float) -> float:
        del state
        return lr

    def output(self, state: State, output: Tensor) -> Tensor:
        del state
        return output

    def loss(self, state: State, loss: Tensor) -> Tensor:
        del state
        return loss

    def hits(self, output: Tensor, target: Tensor) -> float | None:
        """An accuracy in place of the program's own, None to keep that."""
        del output, target
        return None

    def after_backward(self, state: State) -> None: ...

    def after_step(self, state: State) -> None: ...

    def extra(self, state: State) -> dict[str, float]:
        del state
        return {}

    def on(self, state: State) -> bool:
        """The fault is at work by now."""
        return state.step >= self.onset
