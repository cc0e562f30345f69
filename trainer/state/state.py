"""Everything that a training step changes, and so everything that a checkpoint holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler

from ..model.hrm import HRM
from ..model.step import Carry
from ..optim.ema import EMA
from ..optim.sign_sgd import SignSGD
from ..parallel.world import World, local
from .feed import Feed
from .rng import rng_state, set_rng_state


@dataclass
class Stopper:
    """Early stopping: how long the best evaluation has stood."""

    best: float | None = None
    waited: int = 0

    def better(self, value: float, min_delta: float, *, lower: bool) -> bool:
        """Takes one evaluation; whether it beats the best by `min_delta`. NaN never does."""
        gain = float("inf") if self.best is None else (self.best - value if lower else value - self.best)
        if gain > min_delta and value == value:
            self.best, self.waited = value, 0
            return True
        self.waited += 1
        return False


@dataclass
class TrainState:
    """The moving parts of a run.

    Attributes:
        dense: steps the weights, once a step.
        sparse: steps the puzzle embedding, if there is one, once a micro-batch: it remembers the rows of one
            batch only.
        generator: draws the exploration of halting, on the device.
        step: optimizer steps taken.
        lr_scale: changed by a `set_lr` action; multiplies the schedule.
        rollbacks, skipped, restarts: how often the run was saved from itself.
        split: the weights are FSDP's; `dense` steps this process's parts of them.
    """

    model: HRM
    dense: torch.optim.Optimizer
    sparse: SignSGD | None
    scaler: GradScaler
    feed: Feed
    generator: torch.Generator
    ema: EMA | None
    data_hash: str
    carry: Carry | None = None
    step: int = 0
    lr_scale: float = 1.0
    rollbacks: int = 0
    skipped: int = 0
    restarts: int = 0
    stopper: Stopper = field(default_factory=Stopper)
    world: World = field(default_factory=World)
    split: bool = False

    def __post_init__(self) -> None:
        self.parameters: list[Tensor] = list(self.model.parameters())  # once: modules find theirs by a walk

    @property
    def native(self) -> bool:
        """Whether the model runs in C."""
        return self.model.core.kernels is not None

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in (*self.parameters, *self.dense.param_groups[0]["params"]):
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values only, so that it can be loaded without running code. Every process has to
        call it.

        The rows in flight of all processes come together; of a split model only what every process has whole
        is in here.
        """
        model, optimizer = self.model.state_dict(), self.dense.state_dict()
        ema = None if self.ema is None else self.ema.state_dict()
        if self.split:
            model = {
                name: tensor
                for name, tensor in model.items()
                if name not in dict(self.model.named_parameters())
            }
            optimizer, ema = {**optimizer, "state": {}}, None if ema is None else {**ema, "average": {}}
        return {
            "split": [name for name, _ in self.model.named_parameters()] if self.split else None,
            "model": model,
            "optimizer": optimizer,
            "scaler": self.scaler.state_dict(),
            "ema": ema,
            "carry": None if self.carry is None else gather_rows(self.carry, self.world.gather),
            "data": self.feed.state_dict(),
            "data_hash": self.data_hash,
            "native": self.native,
            "rng": rng_state(self.generator),
            "stopper": {"best": self.stopper.best, "waited": self.stopper.waited},
            **{
                name: getattr(self, name) for name in ("step", "lr_scale", "rollbacks", "skipped", "restarts")
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The exact opposite of `state_dict`.

        Raises:
            RuntimeError, KeyError, ValueError: the checkpoint belongs to another model.
        """
        if self.split:
            from .parts import take_parts

            state = take_parts(self.model, state)
        with torch.no_grad():
            if self.split:
                for name, tensor in {
                    **dict(self.model.named_parameters()),
                    **dict(self.model.named_buffers()),
                }.items():
                    if name in state["model"]:
                        local(tensor).copy_(state["model"][name])
            else:
                self.model.load_state_dict(state["model"])
        self.dense.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        if self.ema is not None and state["ema"] is not None:
            self.ema.load_state_dict(state["ema"])
        self.carry = (
            None if state["carry"] is None else Carry(**gather_rows(Carry(**state["carry"]), self.world.part))
        )
        self.feed.load_state_dict(state["data"])
        self.stopper = Stopper(**state["stopper"])
        set_rng_state(self.generator, state["rng"])
        for name in ("step", "lr_scale", "rollbacks", "skipped", "restarts"):
            setattr(self, name, state[name])

    def roll_back(self, state: dict[str, Any], seed: int, lr_factor: float | None = None) -> None:
        """Weights, optimizer and schedule as in `state`, with something changed, or the same failure would
        come.

        Args:
            lr_factor: what the learning rate is multiplied by, with the same batches again; None leaves the
                rate alone and goes on with the batches after those that were used. The draws are new ones in
                any case.
        """
        place, rollbacks, skipped, lr_scale = (
            self.feed.state_dict(),
            self.rollbacks + 1,
            self.skipped,
            self.lr_scale,
        )
        self.load_state_dict(state)
        if lr_factor is None:
            self.feed.load_state_dict(place)
        else:
            self.lr_scale = lr_scale * lr_factor
        self.rollbacks, self.skipped, self.carry = rollbacks, skipped, None
        self.generator.manual_seed(seed + 1_000_003 * rollbacks)


def gather_rows(carry: Carry, gather: Callable[[Tensor], Tensor]) -> dict[str, Any]:
    """The fields of `carry`, each tensor with its rows gone through `gather`."""

    def through(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: through(inner) for key, inner in value.items()}
        if value is None or value.dtype != torch.bool:
            return None if value is None else gather(value)
        return gather(value.to(torch.uint8)).bool()  # not every collective knows bool

    return {name: through(getattr(carry, name)) for name in Carry.__dataclass_fields__}
