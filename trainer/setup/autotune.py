"""Finds the largest batch that fits into memory, by trying: doubling until memory runs out, then halving the
gap.

A formula would miss what the allocator, the attention kernel and the compiler take. Four fifths of what fits
are used, because evaluation and fragmentation need room too; gradient accumulation keeps the effective batch,
and so the learning rate, as it was.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from hrmdoc.errors import ConfigError

from ..config.schema import TrainConfig
from ..data import DataInfo
from ..devices.memory import out_of_memory
from ..devices.plan import Plan
from ..model.gradients import gradients
from ..model.hrm import HRM
from ..optim.adam_atan2 import AdamATan2
from ..parallel.world import World
from ..state.build import arch_config

SAFETY = 0.8
TRIAL_STEPS = 2  # the first one with optimizer state is the second


@dataclass(frozen=True, slots=True)
class Found:
    """What was found. `fits` is the largest number of rows that a process was seen to train with."""

    global_batch_size: int
    grad_accum: int
    fits: int


def largest(attempt: Callable[[int], None], limit: int) -> int:
    """The largest n up to `limit` for which `attempt(n)` does not run out of memory; 0 if not even 1 does."""
    good, n = 0, 1
    bad = limit + 1
    while good < limit and n < bad:
        if _fits(attempt, n):
            good, n = n, min(2 * n, limit)
        else:
            bad = n
    while bad - good > max(1, good // 16) and bad <= limit:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _fits(attempt, middle) else (good, middle)
    return good


def choose(effective: int, fits: int, world_size: int) -> Found:
    """The largest batch within four fifths of what fits that divides `effective` and that the processes share
    evenly.

    A batch that fits as a whole, `effective` rows, is not made smaller.

    Raises:
        ConfigError: nothing fits.
    """
    rows = effective // world_size
    room = rows if fits >= rows / SAFETY else max(1, int(fits * SAFETY))
    micro = next((n for n in range(min(room, rows), 0, -1) if rows % n == 0), 0)
    if not fits or not micro or effective % world_size:
        raise ConfigError(
            "autotune: not even one row per process fits into memory",
            hint="a smaller model (arch.hidden_size, arch.H_layers, arch.L_layers), or a larger device",
        )
    return Found(micro * world_size, rows // micro, fits)


def tune(
    config: TrainConfig,
    plan: Plan,
    info: DataInfo,
    world: World,
    attempt: Callable[[int], None] | None = None,
) -> Found:
    """Tries on the device of `plan`; all processes come to the same result.

    Args:
        attempt: trains with so many rows, or runs out of memory; by default on the real model.
    """
    effective = config.global_batch_size * config.grad_accum
    # A little beyond the effective batch, so that its fitting with room to spare can be seen.
    limit = int(effective / world.size / SAFETY) + 1
    fits = largest(attempt or (lambda rows: trial(config, plan, info, rows)), limit)
    return choose(effective, -world.agree(-fits)[0], world.size)


def tuned(config: TrainConfig, found: Found) -> TrainConfig:
    """`config` with what was found."""
    return replace(config, global_batch_size=found.global_batch_size, grad_accum=found.grad_accum)


def trial(config: TrainConfig, plan: Plan, info: DataInfo, rows: int) -> None:
    """Trains a model of its own for two steps with `rows` rows of blanks."""
    device = torch.device(plan.device)
    model = HRM(arch_config(config.arch, plan.dtype), info, rows, attention=plan.attention).to(device)
    dense = AdamATan2(model.parameters(), 0.0, (config.beta1, config.beta2), config.weight_decay)
    board = torch.zeros(rows, info.seq_len, dtype=torch.int32, device=device)
    batch = {
        "inputs": board,
        "labels": board.clone(),
        "puzzle_identifiers": torch.zeros(rows, dtype=torch.int32, device=device),
    }
    carry = None
    for _ in range(TRIAL_STEPS):
        precision = torch.amp.autocast_mode.autocast(
            plan.device, dtype=getattr(torch, plan.dtype), enabled=plan.autocast
        )
        carry, _ = gradients(model, carry, batch, rows, config.arch.loss.loss_type, precision=precision)
        dense.step()
        dense.zero_grad(set_to_none=True)


def _fits(attempt: Callable[[int], None], rows: int) -> bool:
    try:
        attempt(rows)
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        return False
    finally:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return True
