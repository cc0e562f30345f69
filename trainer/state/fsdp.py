"""FSDP2: weights, gradients and moments of which every process keeps a part.

The optimizer works on the local parts alone, which AdamATan2 allows because it is elementwise.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather, DefaultReduceScatter

from ..model.block import Block
from ..parallel.world import World


def shard(
    model: nn.Module, world: World, device: str, compile_backend: str | None, compile_mode: str | None
) -> None:
    """Splits every block, then what is left of `model`, over the processes."""
    mesh = init_device_mesh(device, (world.size,))
    for module in [module for module in model.modules() if isinstance(module, Block)] + [model]:
        if compile_backend is not None and module is not model:
            module.compile(backend=compile_backend, mode=compile_mode, dynamic=False)
        split = fully_shard(module, mesh=mesh, reshard_after_forward=True)
        if hasattr(module, "first"):  # a pass that does not go through the module's own call
            register_fsdp_forward_method(module, "first")
        split.set_custom_all_gather(_TimedGather(world))
        split.set_custom_reduce_scatter(_TimedScatter(world))


class _Timed:
    """A collective of PyTorch's, on the clock of the run."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.world.clock.section("comm"):
            return super().__call__(*args, **kwargs)  # type: ignore[misc]


class _TimedGather(_Timed, DefaultAllGather):
    """The gathering of parameters."""


class _TimedScatter(_Timed, DefaultReduceScatter):
    """The scattering of gradients."""
