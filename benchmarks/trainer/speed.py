"""The trainer's speed against a reconstruction of the reference's step (`baseline.py`), in one
process, interleaved.

    python -m benchmarks.trainer.speed [a] [b] [c] [--compile] [--steps N] [--only native,trainer]

A step is the whole optimizer step on random 9x9 boards, in float32 on one thread: forward, Q-target,
backward, both optimizers, metrics. Both trainers begin with the same weights and see the same batches; their
losses are compared before anything is timed. Times are CPU seconds of this process, which other processes
disturb less than the clock on the wall; a round times one step of each in turn, and the medians of all rounds
are given. The exploration of halting is off: it draws.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from benchmarks.trainer.baseline import Baseline
from hrmdoc.trainer.commands.benchmark import Stepper, gemm_rate, random_batch, step_flops
from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.devices.machine import keep_memory
from hrmdoc.trainer.model.arch import ArchConfig
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.model.layers import inner_size
from hrmdoc.trainer.model.step import Batch
from hrmdoc.trainer.native import attach

SUDOKU = DataInfo(vocab_size=11, seq_len=81)
SMALL = ArchConfig(hidden_size=32, H_layers=1, L_layers=1, num_heads=1, expansion=2, puzzle_emb_ndim=32)
MIDDLE = ArchConfig(hidden_size=64, H_layers=2, L_layers=2, num_heads=1, expansion=4, puzzle_emb_ndim=64)
CONFIGS = {
    "a": (SMALL, 4, 200),
    "b": (MIDDLE, 8, 60),
    "c": (ArchConfig(), 8, 5),
}  # architecture, batch, rounds
LR, DECAY = 1e-4, 1.0
AGREE = (
    1e-6,
    1e-4,
    1e-4,
)  # of the first losses; AdamATan2 turns gradients that are rounding into whole steps
Step = Callable[[Batch], float]


def contestants(arch: ArchConfig, rows: int, compiled: bool, only: str) -> dict[str, Step]:
    """The baseline, the trainer, the trainer with its kernels in C, and these with the reused Q-target; of
    these the `only`."""
    torch.manual_seed(0)
    first = HRM(arch, SUDOKU, rows)
    baseline = Baseline(first, rows, LR, DECAY, compiled)
    found: dict[str, Step] = {"baseline": lambda batch: baseline.step(batch)["lm_loss"]}
    for who, target, native in (
        ("trainer", "separate", False),
        ("native", "separate", True),
        ("q_target=reuse", "reuse", False),
        ("native+reuse", "reuse", True),
    ):
        if only and who not in only.split(","):
            continue
        model = HRM(replace(arch, q_target=target), SUDOKU, rows)
        model.load_state_dict(first.state_dict())
        if native:
            attach(model)
        elif compiled:
            model.core.compile(dynamic=False)
        found[who] = _step(Stepper(model, LR, DECAY))
    return found


def _step(stepper: Stepper) -> Step:
    return lambda batch: float(stepper.step(batch)["lm_loss"])


Steps = dict[str, Step]


def race(name: str, compiled: bool, rounds: int | None, only: str) -> None:
    arch, rows, usual = CONFIGS[name]
    arch = replace(arch, forward_dtype="float32", halt_exploration_prob=0.0)
    steps = contestants(arch, rows, compiled, only)
    batches = [random_batch(SUDOKU, rows, "cpu", seed) for seed in range(8)]
    apart = max(differences(steps, batches))
    spent = times(steps, batches, rounds or usual)
    tokens, inner = rows * (SUDOKU.seq_len + arch.prefix_len), inner_size(arch.hidden_size, arch.expansion)
    rate = gemm_rate(
        tokens, arch.hidden_size, 2 * inner, torch.float32, torch.device("cpu"), clock=time.process_time
    )
    print(f"({name}) {'compiled' if compiled else 'eager'}, {rounds or usual} rounds; ", end="")
    print(f"first losses apart by {apart:.1e}; matrix products at {rate / 1e9:.0f} GFLOP/s")
    baseline = statistics.median(spent["baseline"])
    for who, each in spent.items():
        target = "reuse" if "reuse" in who else "separate"
        flops = None if who == "baseline" else step_flops(replace(arch, q_target=target), SUDOKU, rows)
        print(row(who, each, flops, rate, baseline))


def differences(steps: Steps, batches: Sequence[Batch]) -> list[float]:
    """How far the first losses lie apart, relatively; those that compute the same must agree."""
    losses = {who: [step(batch) for batch in batches[:3]] for who, step in steps.items()}
    alike = [found for who, found in losses.items() if "reuse" not in who]
    apart = [[abs(x - y) / x for x, y in zip(losses["baseline"], one, strict=True)] for one in alike]
    assert all(d < most for one in apart for d, most in zip(one, AGREE, strict=False)), (
        f"they differ: {losses}"
    )
    return [d for one in apart for d in one]


def times(steps: Steps, batches: Sequence[Batch], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of every step of each, in turn."""
    spent: dict[str, list[float]] = {who: [] for who in steps}
    for number in range(rounds):
        for who, step in steps.items():
            begun = time.process_time()
            step(batches[number % len(batches)])
            spent[who].append(time.process_time() - begun)
    return spent


def row(who: str, spent: Sequence[float], flops: float | None, rate: float, baseline: float) -> str:
    """One contestant's line."""
    each = statistics.median(spent)
    share = f"{flops / 1e9:8.3f} GFLOP {flops / each / rate:5.0%} of matmul" if flops else " " * 29
    best = f"(best {min(spent) * 1e3:.2f}) {1 / each:8.2f} steps/s"
    return f"  {who:<16}{each * 1e3:9.2f} ms {best} {share}  {baseline / each:.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="*", default=["a", "b", "c"], help="of a, b, c")
    parser.add_argument(
        "--compile",
        action="store_true",
        help="torch.compile on both sides; the kernels in C stay as they are",
    )
    parser.add_argument("--steps", type=int, help="rounds")
    parser.add_argument("--only", default="", help="such as trainer,native: contestants beside the baseline")
    parser.add_argument(
        "--plain-malloc", action="store_true", help="leave the C library's memory handling as it is"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    kept = not given.plain_malloc and keep_memory()  # for both sides: it belongs to the process
    print(f"freed memory is {'kept' if kept else 'returned to the system'}")
    for name in given.configs:
        race(name, given.compile, given.steps, given.only)


if __name__ == "__main__":
    main()
