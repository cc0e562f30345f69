"""Puzzles a second, memory and utilisation of each setting."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial

from torch.nn.attention import sdpa_kernel

from benchmarks.trainer.gpu.alone import alone
from benchmarks.trainer.gpu.lines import line
from benchmarks.trainer.gpu.settings import KERNELS, Part, Setting, Sizes, settings
from hrmdoc.trainer.commands.benchmark import gemm_rate, measure_backend, step_flops
from hrmdoc.trainer.config import load as configs
from hrmdoc.trainer.config.schema import TrainConfig
from hrmdoc.trainer.devices.machine import apply
from hrmdoc.trainer.model.arch import DTYPES
from hrmdoc.trainer.model.attention import check_backend
from hrmdoc.trainer.model.layers import inner_size
from hrmdoc.trainer.setup.plan import make_plan
from hrmdoc.trainer.state.build import arch_config


def speed(setting: Setting, config: TrainConfig, sizes: Sizes, peak: float | None) -> Part:
    """The speed of one setting, by the code of `hrmdoc train --benchmark`. `peak`: bfloat16 FLOP/s of the
    device, if known."""
    plan = make_plan(config, {})
    if (
        setting.compiled and plan.device == "cpu"
    ):  # inductor would take minutes there; the traced graph runs as it is
        plan = replace(plan, compile_backend="eager")
    kernel, dtype, board = KERNELS.get(setting.attention), DTYPES[plan.dtype], sizes.board
    attention = "sdpa" if kernel else setting.attention
    check_backend(attention, dtype)
    device, arch = apply(plan), arch_config(config.arch, plan.dtype)
    with sdpa_kernel([kernel]) if kernel else nullcontext():
        found = measure_backend(
            attention, config.seed, arch, board, setting.rows, plan, device, sizes.measured_s
        )
    flops = step_flops(arch, board, setting.rows)
    tokens, wide = (
        setting.rows * (board.seq_len + arch.prefix_len),
        2 * inner_size(arch.hidden_size, arch.expansion),
    )
    products = gemm_rate(
        tokens, arch.hidden_size, wide, dtype, device, seconds=min(0.5, 0.1 + sizes.measured_s)
    )
    rate = flops / found.step_seconds
    return {
        "puzzles_per_second": setting.rows / found.step_seconds,
        "step_seconds": found.step_seconds,
        "steps": found.steps,
        "tflop_per_second": rate / 1e12,
        "mfu": rate / peak if peak and plan.dtype == "bfloat16" else None,
        "of_matmul": rate / products,
        "peak_memory_bytes": found.memory_bytes,
        "compiler": None
        if plan.compile_backend is None
        else f"{plan.compile_backend} {plan.compile_mode or ''}".rstrip(),
        "device": plan.device,
        "computed_in": plan.dtype,
    }


def speeds(sizes: Sizes, peak: float | None, until: float, say: Callable[[str], None]) -> list[Part]:
    """Every setting that can be begun before `until` (of time.monotonic)."""
    parts = []
    for setting in settings(sizes):
        left, least = until - time.monotonic(), sizes.least_s[setting.compiled]
        if left < least:
            result: Part = {
                "status": "skipped",
                "reason": f"no time: {max(0.0, left):.0f} s left, it needs {least:.0f} s",
            }
        else:
            config = configs.load(None, [*sizes.model, *setting.words()])
            result = alone(
                partial(speed, setting, config, sizes, peak), min(left, sizes.most_s[setting.compiled])
            )
        parts.append({"part": "speed", "name": setting.name, **asdict(setting), **result})
        say(line(parts[-1]))
    return parts
