"""Trains a configuration over several seeds on one thread and prints what it reached on held-out puzzles, and
when.

python -m benchmarks.trainer.sudoku benchmarks/trainer/sudoku_4x4.yaml [--seeds 0 1 2] [--runs FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reached:
    """What a run reached: shares of boards wholly right, and the first step over 80 %."""

    first: int | None
    best: float
    last: float
    steps: int
    cpu_s: float


def run(words: Sequence[str], seed: int, folder: Path) -> Reached:
    """Trains by the `words` of `hrmdoc train`, in a process of its own."""
    place = folder / f"seed-{seed}"
    words = [*words, f"seed={seed}", f"run_dir={place}", "threads=1", "device=cpu"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "hrmdoc.trainer", "train", *words],
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    events = [json.loads(line) for line in (place / "events.jsonl").read_text().splitlines()]
    scores = [
        (event["step"], event["metrics"]["all.exact_accuracy"])
        for event in events
        if event["event"] == "evaluated"
    ]
    first = next((step for step, exact in scores if exact > 0.8), None)
    return Reached(first, max(exact for _, exact in scores), scores[-1][1], scores[-1][0], spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=Path)
    given = parser.parse_args()
    print(
        "| seed | first over 80 % at step | best exact | last exact | steps | CPU time |\n"
        "|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for seed in given.seeds:
            found = run([str(given.config)], seed, (given.runs or Path(folder)) / given.config.stem)
            first = "never" if found.first is None else found.first
            shares = f"{found.best:.1%} | {found.last:.1%}"
            print(f"| {seed} | {first} | {shares} | {found.steps} | {found.cpu_s:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
