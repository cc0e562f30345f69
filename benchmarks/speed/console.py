"""Whole commands on the console of eight ranks, where most lines mean something, beside the least that
reading its bytes costs: `python -m benchmarks.speed.console --size 60 [FILE...]`, other logs after it."""

from __future__ import annotations

import argparse
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.speed.harness import run, table, workplace

_RANKS = 8
_SAID = (
    "step {step} | loss {loss:.4f} | grad norm {norm:.3f} | lr {rate:.3e} | tokens/s {pace:.1f}",
    "Saving model checkpoint to runs/checkpoint-{step}",
    "data shard {step} loaded in {norm:.2f}s ({pace:.0f} samples)",
    "all_reduce bucket {step} took {norm:.3f} ms",
    "[dataloader] worker 3 prefetched batch {step}, queue depth 4",
    "evaluation step {step}: eval_loss={loss:.4f} ppl={pace:.2f}",
)


def console(path: Path, size: int) -> Path:
    """A log of bars, records, metric lines and chatter of eight ranks that take turns, with a warning every
    97 steps; at least `size` bytes."""
    written = 0
    with path.open("w", newline="") as file:
        for block in _blocks(random.Random(7)):
            written += len(block.encode())
            file.write(block)
            if written >= size:
                return path
    return path


def _blocks(chance: random.Random) -> Iterator[str]:
    step = 0
    while True:
        lines = []
        for _ in range(1000):
            step += 1
            shown = {
                "step": step,
                "loss": 2 + chance.gauss(0, 0.1),
                "norm": abs(chance.gauss(1, 0.3)),
                "rate": 3e-4 * (1 - step % 100_000 / 100_000),
                "pace": chance.uniform(9000, 11000),
            }
            lines.append(_bars(step, shown["loss"]) + ("\n" if chance.random() < 0.3 else "\r"))
            clock = f"2026-11-21 {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}"
            for rank in range(_RANKS):
                said = _SAID[(step + rank) % len(_SAID)].format(**shown)
                lines.append(f"{clock},{rank * 37:03d} INFO [rank{rank}] megatron.training: {said}\n")
            if step % 3 == 0:
                lines.append(
                    f"{{'loss': {shown['loss']:.4f}, 'grad_norm': {shown['norm']:.4f}, "
                    f"'learning_rate': {shown['rate']:.10g}, 'epoch': {step / 50_000:.4f}}}\n"
                )
            if step % 97 == 0:
                lines.append("/opt/lib/checkpoint.py:464: UserWarning: use_reentrant should be passed\n")
        yield "".join(lines)


def _bars(step: int, loss: float) -> str:
    behind = f"/10000000 [01:02<11:22, 1.05it/s, loss={loss:.3f}]"
    return "".join(f"\r {10 * part:3d}%|{'█' * part:<10}| {10 * step + part}{behind}" for part in range(4))


def _touched(data: bytes) -> dict[str, Callable[[], object]]:
    """What any reader by numpy does at least: find the line ends; find the digits; name lines by their
    shapes."""
    raw = np.frombuffer(data, np.uint8)
    zeros = bytes.maketrans(b"123456789", b"000000000")
    return {
        "find the line ends": lambda: np.flatnonzero(raw == 10),
        "find the runs of digits": lambda: np.flatnonzero(np.diff((raw - np.uint8(48)) < 10)),
        "look up each line by its shape": lambda: [hash(line) for line in data.translate(zeros).split(b"\n")],
    }


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=60, help="MB of the log that is made")
    parser.add_argument("logs", nargs="*", type=Path, help="other logs to read as well")
    asked = parser.parse_args()
    with workplace() as place:
        logs = [console(place / "console.log", asked.size * 1_000_000), *asked.logs]
        rows = []
        for log in logs:
            for command in ("series", "analyze"):
                samples = [run([sys.executable, "-m", "hrmdoc", command, str(log)]) for _ in range(3)]
                best = min(samples, key=lambda sample: sample.cpu)
                size = log.stat().st_size / 1e6
                pace = f"{size / best.cpu:.0f} MB/s"
                rows.append((log.name, command, f"{best.cpu:.2f}", pace, f"{best.resident:.0f} MB"))
        data = logs[0].read_bytes()[: 1 << 20]
        bounds = [(name, f"{len(data) / 1e6 / _least(one):.0f} MB/s") for name, one in _touched(data).items()]
    print(platform.processor() or platform.machine())
    print(table(("log", "command", "CPU s", "pace", "peak"), rows))
    print(table(("the least that one pass costs", "pace"), bounds))


def _least(work: Callable[[], object]) -> float:
    """The best of twenty times, seconds."""
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    main()
