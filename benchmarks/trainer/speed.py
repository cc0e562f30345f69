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
from collections.abc import Callable
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


def race(name: str, compiled: bool, rounds: int | None, only: str) -> None:
    arch, rows, usual = CONFIGS[name]
    arch = replace(arch, forward_dtype="float32", halt_exploration_prob=0.0)
    steps = contestants(arch, rows, compiled, only)
    batches = [random_batch(SUDOKU, rows, "cpu", seed) for seed in range(8)]
    losses = {who: [step(batch) for batch in batches[:3]] for who, step in steps.items()}
    pairs = [
        (losses["baseline"][step], losses[who][step], step)
        for who in steps
        if "reuse" not in who
        for step in range(3)
    ]
    apart = [abs(x - y) / x for x, y, _ in pairs]
    assert all(found < AGREE[step] for found, (*_, step) in zip(apart, pairs, strict=True)), (
        f"the trainers differ: {losses}"
    )
    spent: dict[str, list[float]] = {who: [] for who in steps}
    for number in range(rounds or usual):
        for who, step in steps.items():
            begun = time.process_time()
            step(batches[number % len(batches)])
            spent[who].append(time.process_time() - begun)
    tokens, inner = rows * (SUDOKU.seq_len + arch.prefix_len), inner_size(arch.hidden_size, arch.expansion)
    rate = gemm_rate(
        tokens, arch.hidden_size, 2 * inner, torch.float32, torch.device("cpu"), clock=time.process_time
    )
    whole, less = (
        step_flops(replace(arch, q_target=target), SUDOKU, rows) for target in ("separate", "reuse")
    )
    flops = {who: less if "reuse" in who else whole for who in steps if who != "baseline"}
    print(
        f"({name}) {'compiled' if compiled else 'eager'}, {rounds or usual} rounds; "
        f"first losses apart by {max(apart):.1e}; ",
        end="",
    )
    print(f"matrix products at {rate / 1e9:.0f} GFLOP/s")
    middle = {who: statistics.median(times) for who, times in spent.items()}
    for who, each in middle.items():
        share = (
            f"{flops[who] / 1e9:8.3f} GFLOP {flops[who] / each / rate:5.0%} of matmul"
            if who in flops
            else " " * 29
        )
        low = min(spent[who])
        print(
            f"  {who:<16}{each * 1e3:9.2f} ms (best {low * 1e3:.2f}) {1 / each:8.2f} steps/s {share}", end=""
        )
        print(f"  {middle['baseline'] / each:.2f}x")


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
