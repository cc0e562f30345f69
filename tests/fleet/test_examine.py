"""Many runs at once: what comes back, and what a run does to others that ends or holds up its process."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hrmdoc import readers, systems
from hrmdoc.fleet.engines import Limits
from hrmdoc.fleet.examine import examined
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.work import Done, Request
from hrmdoc.settings import Settings
from tests.fleet.runs_of import write_run

REQUEST = Request(Settings(), {})


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for number in range(6):
        write_run(tmp_path / "runs" / f"run_{number}", sick=number == 3)
    return tmp_path / "runs"


def summaries(found: Iterator[Done]) -> dict[str, Summary]:
    return {Path(done.summary.path).name: done.summary for done in found}


def test_one_process_and_several_say_the_same(fleet: Path) -> None:
    groups = readers.runs_below(fleet)
    here = summaries(done for group in groups for done in examined([group], REQUEST))
    there = summaries(examined(groups, REQUEST, jobs=2))
    assert here == there
    assert [there[f"run_{number}"].verdict for number in (0, 3)] == ["healthy", "critical"]


def test_a_summary_is_small_and_says_what_when_and_how_much(fleet: Path) -> None:
    (done,) = examined([group for group in readers.runs_below(fleet) if group.folder.endswith("_3")], REQUEST)
    found = done.summary
    assert len(pickle.dumps(done)) < 50_000
    assert (found.step, found.last_step, found.account.lost_steps) == (210, 400, 190)
    assert found.failure_mode.endswith("/loss-nonfinite")
    assert found.cause is not None
    assert found.incidents[0].opened == found.since
    assert found.settings["optimizer.lr"] == 3e-4
    assert not found.incidents[0].over


class Deadly:
    """A run that ends the process in which it arrives."""

    folder = "deadly"
    sources = ()

    def __init__(self, how: Callable[..., object], *words: int) -> None:
        self._how = how, words

    def __reduce__(self) -> tuple[Callable[..., object], tuple[int, ...]]:
        return self._how


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            Deadly(signal.raise_signal, signal.SIGKILL),
            "ended by SIGKILL, as the system does where memory runs out",
        ),
        (Deadly(signal.raise_signal, signal.SIGSEGV), "ended by SIGSEGV"),
        (Deadly(os._exit, 3), "without a word"),
        (Deadly(bytearray, 1 << 40), "without a word"),  # more memory than a process may have
    ],
)
def test_a_run_that_ends_its_process_costs_its_own_row_alone(fleet: Path, run: Any, said: str) -> None:
    groups = readers.runs_below(fleet)
    found = summaries(examined([run, *groups, run], REQUEST, jobs=2))
    assert said in found.pop("deadly").fault
    assert sorted(found) == [f"run_{number}" for number in range(6)]
    assert all(one.points for one in found.values())


def test_a_process_that_has_grown_is_replaced(fleet: Path) -> None:
    groups = readers.runs_below(fleet)
    assert len(summaries(examined(groups, REQUEST, jobs=1, limits=Limits(recycle=1)))) == 6


def test_a_run_that_takes_too_long_is_ended_and_the_rest_goes_on(fleet: Path) -> None:
    groups = readers.runs_below(fleet)
    found = summaries(examined(groups, REQUEST, jobs=1, limits=Limits(seconds=0.001, seconds_a_byte=0.0)))
    assert len(found) == 6
    assert all("took more than" in one.fault for one in found.values())


def test_an_interrupt_of_the_terminal_does_not_reach_a_process_that_begins(fleet: Path) -> None:
    struck: Any = Deadly(signal.raise_signal, signal.SIGINT)  # arrives with what is asked of every run
    groups = readers.runs_below(fleet)[:2]
    found = summaries(examined(groups, Request(Settings(), {"metric_roles": struck}), jobs=1))
    assert [one.fault for one in found.values()] == ["", ""]


def test_an_interrupt_that_is_held_comes_behind_what_it_was_held_for() -> None:
    reached: list[str] = []

    def work() -> None:
        with systems.interrupts_held():
            signal.raise_signal(signal.SIGINT)
            reached.append("its end")

    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # what starts in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == ["its end"]
