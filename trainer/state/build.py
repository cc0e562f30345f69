"""The state of a run that begins: model and optimizers, seeded."""

from __future__ import annotations

import torch
from torch.amp.grad_scaler import GradScaler

from .. import native
from ..config.schema import ArchKeys, TrainConfig
from ..data import DataInfo
from ..devices.plan import Plan
from ..model.arch import ArchConfig
from ..model.hrm import HRM
from ..optim.adam_atan2 import AdamATan2
from ..optim.ema import EMA
from ..optim.sign_sgd import SignSGD
from ..parallel.world import World, local
from .feed import Feed
from .rng import seed_all
from .state import TrainState


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
        from .fsdp import shard

        shard(model, world, plan.device, plan.compile_backend, plan.compile_mode)
    elif plan.native:
        native.attach(model)
    elif plan.compile_backend is not None:
        model.core.compile(backend=plan.compile_backend, mode=plan.compile_mode, dynamic=False)
    weights = [local(p) for p in model.parameters()] if split else list(model.parameters())
    sparse = (
        None if model.puzzle_emb is None else SignSGD(model.puzzle_emb, 0.0, config.puzzle_emb_weight_decay)
    )
    if sparse is not None:
        sparse.world = world
    dense = AdamATan2(weights, 0.0, (config.beta1, config.beta2), config.weight_decay)
    if model.core.kernels is not None:
        dense.moment_step = model.core.kernels.adam_atan2
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
