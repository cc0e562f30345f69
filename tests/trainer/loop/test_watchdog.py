"""hrmdoc.trainer.loop.watchdog: a loop that stands still leaves a word."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

pytest.importorskip("torch")
from hrmdoc.trainer.loop.hooks import Hooks
from hrmdoc.trainer.loop.watchdog import Watchdog


class Heard:
    """A run that keeps what is said."""

    def __init__(self, step: int = 0) -> None:
        self.alive = (time.monotonic(), step)
        self.said: list[str] = []

    def step(self) -> None:
        self.alive = (time.monotonic(), self.alive[1] + 1)

    def warn(self, step: int, warning: str) -> None:
        self.said.append(f"{step} {warning}")

    def log(self, line: str) -> None:
        self.said.append(line)


def waiting_for_a_peer(seconds: float) -> None:
    time.sleep(seconds)


def test_steps_that_come_are_not_spoken_of() -> None:
    run = Heard()
    with Hooks(Watchdog(run, patience_s=0.5, poll_s=0.02)):
        for _ in range(20):
            run.step()
            time.sleep(0.01)
    assert run.said == []


def test_the_first_step_may_take_its_time() -> None:
    run = Heard(7)
    with Hooks(Watchdog(run, patience_s=0.05, poll_s=0.02)):
        time.sleep(0.3)
    assert run.said == []


def test_a_silence_is_reported_with_its_place_again_as_it_doubles_and_when_it_ends() -> None:
    run = Heard()
    with Hooks(Watchdog(run, patience_s=0.2, poll_s=0.02)):
        run.step()
        waiting_for_a_peer(1.2)
        run.step()
        time.sleep(0.1)
    *warnings, end = run.said
    assert len(warnings) >= 2
    assert all(line.startswith("1 no step has ended for ") for line in warnings)
    assert all("since step 1; the loop stands in waiting_for_a_peer (" in line for line in warnings)
    assert end.startswith("the loop goes on after ")
    times = [float(line.split(" for ")[1].split(" s")[0]) for line in warnings]
    assert all(later >= earlier for earlier, later in pairwise(times))


def test_a_step_as_long_as_the_usual_ones_is_no_silence() -> None:
    run = Heard()
    with Hooks(Watchdog(run, patience_s=0.01, poll_s=0.02)):
        for _ in range(3):
            run.step()
            time.sleep(0.3)
        before = [line for line in run.said if line.startswith(("2 ", "3 "))]
    assert before == []
