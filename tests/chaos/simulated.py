"""A watch whose clock and file events are stood in for, so that hours pass in seconds."""

from __future__ import annotations

import argparse
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from hrmdoc.live.watch import Watch
from hrmdoc.settings import Settings
from tests.chaos.tools import line


class Simulated:
    """A watch whose clock and file events are ours: each wait lets some time of the run pass."""

    def __init__(self, log: Path, pass_time: Callable[[Simulated], bool], **options: Any) -> None:
        self.wall, self.steady, self._pass = 1.7e9, 0.0, pass_time
        log.write_text(line(0))  # a file that is empty is looked at again after a real second
        self.watch = Watch(
            str(log),
            settings=Settings(),
            now=lambda: self.wall,
            steady=lambda: self.steady,
            remember=False,
            **options,
        )
        self.changes: Counter[tuple[str, str]] = Counter()

    def listen(self, *_: object, **__: object) -> None:
        """File events are none of ours."""

    def close(self) -> None:
        """There is nothing to close."""

    def wait(self, *_: object) -> None:
        if not self._pass(self):
            self.watch.stop()

    def run(self) -> Simulated:
        with mock.patch("hrmdoc.live.watch.Waker", return_value=self):
            for update in self.watch.updates():
                self.changes.update((one.symptom, one.change) for one in update.changes)
        return self


def a_simulated_day(folder: Path, options: argparse.Namespace) -> str:
    """A point a second for a day, in looks of a minute; three losses of the loss, told once each."""
    log, seconds, memory = folder / "train.log", int(options.hours * 3600), []
    lost = [(int(seconds * share), int(seconds * share) + 150) for share in (0.1, 0.35, 0.9)]
    step = 0

    def minute(simulated: Simulated) -> bool:
        nonlocal step
        with log.open("a") as file:
            for _ in range(60):
                step += 1
                file.write(line(step, any(first <= step < last for first, last in lost)))
        simulated.wall += 60
        simulated.steady += 60
        os.utime(log, (simulated.wall, simulated.wall))
        if step % (seconds // 12 // 60 * 60 or 60) == 0:
            memory.append(psutil.Process().memory_info().rss / 1e6)
        return step < seconds

    found = Simulated(log, minute).run().changes
    opened = found["loss-nonfinite", "opened"] + found["loss-nonfinite", "reopened"]
    assert opened == len(lost), f"{opened} of {len(lost)} losses were told: {dict(found)}"
    assert found["loss-nonfinite", "resolved"] >= len(lost) - 1, dict(found)
    grown = memory[-1] - memory[len(memory) // 2]
    assert grown < 40, f"the second half of the day took {grown:.0f} MB"
    return (
        f"{step:,} points, {opened} incidents, memory {memory[len(memory) // 2]:.0f} to {memory[-1]:.0f} MB"
    )


def a_clock_that_jumps(folder: Path, options: argparse.Namespace) -> str:
    """The wall clock is set a day and an hour back and forth, while the run goes on."""
    log, step, jumps = folder / "train.log", 0, 0
    dice = random.Random(options.seed)

    def pass_time(simulated: Simulated) -> bool:
        nonlocal step, jumps
        step += 1
        with log.open("a") as file:
            file.writelines(line(10 * step + one) for one in range(10))
        simulated.wall += 10
        simulated.steady += 10
        if step % 10 == 0:
            jumps += 1
            simulated.wall += dice.choice([-86_400, 86_400, -3600, 3600])
        os.utime(log, (simulated.wall, simulated.wall))
        return step < 300

    found = Simulated(log, pass_time).run().changes
    assert not found, f"a clock that was set made incidents: {dict(found)}"
    return f"{jumps} jumps"


def rotation(folder: Path, rename: bool) -> str:
    """A log is rotated while it is followed; no point is counted twice, and by renaming none is lost."""
    log, step, turns = folder / "train.log", 0, 0

    def pass_time(simulated: Simulated) -> bool:
        nonlocal step, turns
        with log.open("a") as file:
            for _ in range(20):
                step += 1
                file.write(line(step))
        simulated.wall += 20
        simulated.steady += 20
        if step % 200 == 0:
            turns += 1
            if rename:
                log.rename(folder / f"train.log.{turns}")
            else:
                simulated.watch._follower.poll()
                log.write_text("")
        return step < 3000

    watch = Simulated(log, pass_time).run().watch
    series = watch.session.run.best("train.loss")
    assert series is not None
    steps = Counter(int(one) for one in series.steps)
    assert max(steps.values()) == 1, "a point was counted twice"
    assert len(steps) == step + 1, f"{step + 1 - len(steps)} points were lost"
    return f"{turns} rotations, {step} points"
