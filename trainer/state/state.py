"""Everything that a training step changes, and so everything that a checkpoint holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler

from ..config.schema import ArchKeys, TrainConfig
from ..data import DataInfo
from ..data.feed import Feed
from ..devices.devices import Plan
from ..model.hrm import HRM, ArchConfig, Carry
from ..optim.optim import EMA, AdamATan2, SignSGD
from ..parallel.world import World, local


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
        """Whether the levels run in C."""
        return self.model.core.native is not None

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
            from ..parallel.shards import take_parts

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


def build(
    config: TrainConfig, plan: Plan, info: DataInfo, feed: Feed, data_hash: str, batch_size: int, world: World
) -> TrainState:
    """Model, optimizers and the rest for a run that begins, seeded. `batch_size` counts the rows of this
    process."""
    seed_all(config.seed)
    device = torch.device(plan.device)
    model = HRM(arch_config(config.arch, plan.dtype), info, batch_size, attention=plan.attention).to(device)
    model.world = world
    world.copy_from_first([*model.parameters(), *model.buffers()])
    split = world.size > 1 and config.parallel.strategy == "fsdp"
    if split:
        from ..parallel.shards import shard

        shard(model, world, plan.device, plan.compile_backend, plan.compile_mode)
    elif plan.native:
        model.use_native()
    elif plan.compile_backend is not None:
        model.core.compile(backend=plan.compile_backend, mode=plan.compile_mode, dynamic=False)
    weights = [local(p) for p in model.parameters()] if split else list(model.parameters())
    sparse = (
        None if model.puzzle_emb is None else SignSGD(model.puzzle_emb, 0.0, config.puzzle_emb_weight_decay)
    )
    if sparse is not None:
        sparse.world = world
    dense = AdamATan2(weights, 0.0, (config.beta1, config.beta2), config.weight_decay)
    dense.native = model.core.native is not None
    return TrainState(
        model=model,
        dense=dense,
        sparse=sparse,
        scaler=GradScaler(plan.device, enabled=plan.scaler),
        feed=feed,
        generator=torch.Generator(device).manual_seed(config.seed),
        ema=EMA(model, config.ema_rate) if config.ema else None,
        data_hash=data_hash,
        world=world,
        split=split,
    )


def arch_config(keys: ArchKeys, dtype: str) -> ArchConfig:
    """The model's own configuration from the keys of the file; the plan has settled the dtype."""
    names = [name for name in ArchConfig.__dataclass_fields__ if hasattr(keys, name)]
    values = {name: getattr(keys, name) for name in names}
    if keys.puzzle_emb_ndim is None:
        values["puzzle_emb_ndim"] = keys.hidden_size
    return ArchConfig(**{**values, "forward_dtype": dtype, "loss_type": keys.loss.loss_type})


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
