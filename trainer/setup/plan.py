"""The device plan of a run on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hrmdoc.errors import ConfigError

from .. import native
from ..config.schema import TrainConfig
from ..devices.machine import probe
from ..devices.plan import Plan, Request
from ..devices.plan import plan as make
from ..faults import fault_of
from ..launch.env import world_size


def make_plan(config: TrainConfig, env: Mapping[str, str]) -> Plan:
    """The device plan that `config` asks for on this machine.

    Raises:
        ConfigError: it asks for what this machine does not have: a device, or a compiler for native=true.
    """
    asked = (
        config.arch.forward_dtype if config.dtype == "auto" and config.arch.forward_dtype else config.dtype
    )
    request = Request(
        device=config.device,
        dtype=asked,
        compile=config.compile,
        native=config.native,
        native_obstacle=_native_obstacle(config, env),
        threads=config.threads,
        deterministic=config.deterministic,
        hidden_size=config.arch.hidden_size,
        grad_accum=config.grad_accum,
        processes=int(env.get("LOCAL_WORLD_SIZE") or 1),
    )
    machine = probe()
    chosen = make(request, machine, env)
    # ranks that choose apart, or a choice by the clock where the same bits are asked for, would be none
    alone = world_size(env) == 1 and not config.deterministic
    paced = alone and not chosen.native and make(replace(request, native_pace=1.0), machine, env).native
    if chosen.native or paced:
        try:
            native.library()
            if paced:
                pace = native.pace(config.arch.hidden_size, config.arch.expansion)
                return make(replace(request, native_pace=pace), machine, env)
        except ConfigError as error:
            if config.native is True:
                raise
            return replace(chosen, native=False, native_reason=error.what)
    return chosen


def _native_obstacle(config: TrainConfig, env: Mapping[str, str]) -> str | None:
    """Why the kernels in C cannot train this run on any device."""
    if fault_of(config.fault).in_layers:
        return "the fault reaches into layers that they pass by"
    if config.parallel.strategy == "fsdp" and world_size(env) > 1:
        return "FSDP gathers the weights for PyTorch's layers"
    return native.obstacle(config.arch.hidden_size, causal=config.arch.causal, mlp_t=config.arch.mlp_t)
