"""What logging takes of a training step, at the default interval.

    python -m benchmarks.trainer.log_cost [a] [b] [--rounds N] [--native]

Two trainers begin with the same weights and see the same batches. One only trains. The other also does what
the loop does for the logs: it keeps each step's metrics, measures every 10 steps how far the weights move,
fetches all this, and hands it to the event file, the text log and the heartbeat of a real run directory. They
take turns of 10 steps. CPU seconds of the whole process are counted, so the event file's writer thread is in.
The difference of two medians is a small number between two large ones; so the work of logging is also timed
alone, on sums that are ready: that is the figure to trust.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch

from benchmarks.trainer.speed import CONFIGS, DECAY, LR, SUDOKU
from hrmdoc.trainer.commands.benchmark import Stepper, random_batch
from hrmdoc.trainer.config.schema import TrainConfig
from hrmdoc.trainer.devices.machine import keep_memory
from hrmdoc.trainer.loop.job import Job
from hrmdoc.trainer.loop.journal import Journal
from hrmdoc.trainer.loop.meter import Meter
from hrmdoc.trainer.model.gradients import Sums
from hrmdoc.trainer.model.hrm import HRM
from hrmdoc.trainer.native import attach
from hrmdoc.trainer.optim.movement import Movement
from hrmdoc.trainer.parallel.world import World
from hrmdoc.trainer.rundir.directory import RunDir

INTERVAL = TrainConfig().log_interval
ALONE = 400  # intervals of logging without training
NORM = torch.tensor(1.0)


class Log:
    """The loop's logging, on a run directory of its own."""

    def __init__(self, folder: Path, rows: int, model: HRM) -> None:
        self.run, self.world, self.step = RunDir(folder, lambda line: None), World(), 0  # noqa: ARG005
        plan = SimpleNamespace(compile_backend=None, device="cpu", scaler=False)
        job = SimpleNamespace(
            run=self.run, world=self.world, plan=plan, total_steps=10**6, progress=lambda *_: None
        )
        self.movement = Movement(model.parameters(), self.world, split=False)
        self.meter, self.journal = Meter(rows, self.world), Journal(cast(Job, cast(Any, job)), rows)

    def before(self) -> None:
        """What the loop does before the optimizer."""
        self.step += 1
        if self.step % INTERVAL == 0:
            self.movement.before()

    def take(self, sums: Sums) -> None:
        """What the loop does after a step."""
        with self.world.clock.section("compute"):
            self.meter.add(sums)
        self.meter.close_step(self.step, NORM, {"train/lr": LR}, self.movement.after())
        self.journal.after_step(self.step)
        if self.step % INTERVAL == 0:
            self.journal.measured(self.meter.fetch(), line=True)
        self.run.heartbeat(self.step)

    def close(self) -> None:
        self.run.close(self.step, "finished")


def measure(name: str, rounds: int, folder: Path, native: bool) -> None:
    arch, rows, _ = CONFIGS[name]
    arch = replace(arch, forward_dtype="float32", halt_exploration_prob=0.0)
    torch.manual_seed(0)
    models = [HRM(arch, SUDOKU, rows) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    for model in models if native else ():
        attach(model)
    silent, logged = (Stepper(model, LR, DECAY) for model in models)
    batches = [random_batch(SUDOKU, rows, "cpu", seed) for seed in range(INTERVAL)]
    log = Log(folder / name, rows, logged.model)

    def without() -> None:
        for batch in batches:
            silent.step(batch)

    def logged() -> None:
        for batch in batches:
            log.before()
            log.take(logged.step(batch))

    spent: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(rounds):
        for who, turn in (("without", without), ("with", logged)):
            begun = time.process_time()
            turn()
            spent[who].append((time.process_time() - begun) / INTERVAL)
    log.close()
    off, on = (statistics.median(times) for times in spent.values())
    sums, alone = logged.step(batches[0]), Log(folder / f"{name}-alone", rows, logged.model)
    begun = time.process_time()
    for _ in range(ALONE * INTERVAL):
        alone.before()
        alone.take(sums)
    alone.close()
    cost = (time.process_time() - begun) / (ALONE * INTERVAL)
    print(
        f"({name}) step without logging {off * 1e3:.2f} ms, with it {on * 1e3:.2f} ms "
        f"({(on - off) / off:+.1%}); "
        f"logging alone {cost * 1e6:.0f} us a step, {cost / off:.2%} of a step"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="*", default=["a"], help="of a, b, c")
    parser.add_argument("--rounds", type=int, default=30, help="turns of each")
    parser.add_argument(
        "--native", action="store_true", help="steps in C, as a run of one CPU thread takes them"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.configs:
            measure(name, given.rounds, Path(folder), given.native)


if __name__ == "__main__":
    main()
