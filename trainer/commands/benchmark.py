"""`hrmdoc train --benchmark`: how fast this machine trains a model, with every attention that it has and with
the kernels in C.

A step is all of it: the forward pass, the second one for the Q-target, the backward pass and both optimizers.
Its floating-point operations are counted by PyTorch on tensors without storage, and compared with the rate
that one matrix multiplication of the model's own shape reaches on this machine.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from hrmdoc.errors import ConfigError, UsageError

from .. import native
from ..config import load as configs
from ..data import DataInfo
from ..devices.machine import apply, probe
from ..devices.plan import Plan
from ..model.arch import DTYPES, ArchConfig
from ..model.attention import BACKENDS, check_backend
from ..model.gradients import gradient_norm, gradients
from ..model.hrm import HRM
from ..model.layers import inner_size
from ..model.step import Batch, Carry, Sums
from ..optim.adam_atan2 import AdamATan2
from ..optim.sign_sgd import SignSGD
from ..setup.plan import make_plan
from ..state.build import arch_config
from ..validation.compute import random_batch, step_flops

OPTIONS = {"--seq-len": 81, "--batch": 0, "--vocab": 11, "--seconds": 10}
WARMUP = 2  # steps that are not counted: caches, lazily made buffers, compilation
MIB = 1 << 20
NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Speed:
    """One backend. `memory_bytes` is the peak: of the device's allocator on a GPU, of the process
    elsewhere."""

    backend: str
    steps: int
    seconds: float
    memory_bytes: int

    @property
    def step_seconds(self) -> float:
        return self.seconds / self.steps


class Stepper:
    """Whole optimizer steps on a model, without logging or data loading."""

    def __init__(self, model: HRM, lr: float = 1e-4, weight_decay: float = 1.0) -> None:
        self.model = model.train()
        self.dense = AdamATan2(model.parameters(), lr, (0.9, 0.95), weight_decay)
        if model.core.kernels is not None:
            self.dense.moment_step = model.core.kernels.adam_atan2
        self.sparse = None if model.puzzle_emb is None else SignSGD(model.puzzle_emb, lr, weight_decay)
        self.carry: Carry | None = None

    def step(self, batch: Batch) -> Sums:
        """One step; the sums of its metrics, still on the device."""
        self.carry, sums = gradients(
            self.model, self.carry, batch, len(batch["inputs"]), self.model.arch.loss_type
        )
        if self.sparse is not None:
            self.sparse.step()
        gradient_norm(self.model, self.dense.param_groups[0]["params"])
        self.dense.step()
        self.dense.zero_grad(set_to_none=True)
        return sums


def gemm_rate(
    tokens: int,
    inputs: int,
    outputs: int,
    dtype: torch.dtype,
    device: torch.device,
    seconds: float = 0.5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Floating-point operations a second of [tokens, inputs] @ [inputs, outputs]; the best of several
    rounds."""
    x, w = (
        torch.randn(tokens, inputs, dtype=dtype, device=device),
        torch.randn(inputs, outputs, dtype=dtype, device=device),
    )
    rounds = max(1, int(5e8 / (2 * tokens * inputs * outputs)))
    best, begun = math.inf, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        _wait(device)
        start = clock()
        for _ in range(rounds):
            torch.mm(x, w)
        _wait(device)
        best = min(best, (clock() - start) / rounds)
    return 2 * tokens * inputs * outputs / best


def measure(step: Callable[[], object], backend: str, device: torch.device, seconds: float) -> Speed:
    """Repeats `step` for about `seconds`, three times at least, after a warm-up."""
    for _ in range(WARMUP):
        step()
    _wait(device)
    _forget_peak(device)
    steps, start = 0, time.perf_counter()
    while steps < 3 or time.perf_counter() - start < seconds:
        step()
        steps += 1
        if device.type != "cpu":
            _wait(device)
    return Speed(backend, steps, time.perf_counter() - start, _peak(device))


def command(words: list[str]) -> int:
    """`hrmdoc train --benchmark [--seq-len N] [--batch N] [--vocab N] [--seconds N] [CONFIG.yaml] [key=value
    ...]`."""
    numbers, rest = _options([word for word in words if word != "--benchmark"])
    file = next((Path(word) for word in rest if "=" not in word), None)
    config = configs.load(file, [word for word in rest if "=" in word])
    plan = make_plan(config, os.environ)
    device = apply(plan)
    rows = numbers["--batch"] or config.global_batch_size
    arch, info = (
        arch_config(config.arch, plan.dtype),
        DataInfo(vocab_size=numbers["--vocab"], seq_len=numbers["--seq-len"]),
    )
    tokens = rows * (info.seq_len + arch.prefix_len)
    flops = step_flops(arch, info, rows)
    wide = 2 * inner_size(arch.hidden_size, arch.expansion)
    peak = gemm_rate(tokens, arch.hidden_size, wide, DTYPES[plan.dtype], device)
    say = sys.stdout.write
    say(f"device {plan.device} ({probe().name}), {torch.get_num_threads()} thread(s), {plan.dtype}, ")
    say(
        f"float32 matmul precision {torch.get_float32_matmul_precision()}, "
        f"compile {plan.compile_backend or 'off'}\n"
    )
    say(f"batch {rows} x {info.seq_len} tokens (+{arch.prefix_len}), {flops / 1e9:.3g} GFLOP a step, ")
    say(
        f"matrix products of [{tokens}, {arch.hidden_size}] x [{arch.hidden_size}, {wide}] "
        f"at {peak / 1e9:.1f} GFLOP/s\n"
    )
    say(
        f"{'attention':<10}{'steps/s':>10}{'tokens/s':>12}{'ms/step':>10}"
        f"{'peak MiB':>10}{'GFLOP/s':>10}{'of matmul':>11}\n"
    )
    for backend in BACKENDS:
        try:
            check_backend(backend, DTYPES[plan.dtype])
            if backend == "flash" and device.type != "cuda":
                raise ConfigError("flash-attn runs on CUDA only")
        except ConfigError as error:
            say(f"{backend:<10}{error.what}\n")
            continue
        speed = measure_backend(backend, config.seed, arch, info, rows, plan, device, numbers["--seconds"])
        say(_row(speed, tokens, flops, peak))
    if plan.native:
        speed = measure_backend(NATIVE, config.seed, arch, info, rows, plan, device, numbers["--seconds"])
        say(_row(speed, tokens, flops, peak))
    else:
        say(f"{NATIVE:<10}not used: {plan.native_reason}\n")
    return 0


def measure_backend(
    backend: str,
    seed: int,
    arch: ArchConfig,
    info: DataInfo,
    rows: int,
    plan: Plan,
    device: torch.device,
    seconds: int,
) -> Speed:
    """The speed of a new model with `backend` (one of BACKENDS, or NATIVE) on random batches, compiled where
    `plan` says so."""
    torch.manual_seed(seed)
    model = HRM(arch, info, rows, attention=plan.attention if backend == NATIVE else backend).to(device)
    if backend == NATIVE:
        native.attach(model)
    elif plan.compile_backend is not None:
        model.core.compile(backend=plan.compile_backend, mode=plan.compile_mode, dynamic=False)
    stepper, batch = Stepper(model), random_batch(info, rows, device)
    return measure(lambda: stepper.step(batch), backend, device, seconds)


def _row(speed: Speed, tokens: int, flops: int, peak: float) -> str:
    each = speed.step_seconds
    return (
        f"{speed.backend:<10}{1 / each:>10.3g}{tokens / each:>12,.0f}{each * 1e3:>10.4g}"
        f"{speed.memory_bytes / MIB:>10,.0f}{flops / each / 1e9:>10.3g}{flops / each / peak:>10.0%}\n"
    )


def _options(words: list[str]) -> tuple[dict[str, int], list[str]]:
    """The numbers of `--name N` and `--name=N`, and the other words."""
    numbers, rest, waiting = dict(OPTIONS), [], iter(words)
    for word in waiting:
        name, equals, text = word.partition("=")
        if not name.startswith("-"):
            rest.append(word)
            continue
        text = text if equals else next(waiting, "")
        if name not in OPTIONS or not text.isdecimal() or int(text) < 1:
            known = ", ".join(f"{option} N" for option in OPTIONS)
            raise UsageError(
                f"the benchmark does not understand {word} {text}".rstrip(),
                hint=f"options: {known}; then key=value",
            )
        numbers[name] = int(text)
    if sum("=" not in word for word in rest) > 1:
        raise UsageError("one configuration file at most", hint="settings are written key=value")
    return numbers, rest


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()


def _forget_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: resets the peak of the resident memory
    except OSError:
        return


def _peak(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated())
    try:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return int(psutil.Process().memory_info().rss)
