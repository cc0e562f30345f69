"""Whether the process of a run still lives."""

import os
import platform
import subprocess
import sys
import time

import pytest

from hrmdoc.examination.process import process_of
from hrmdoc.record.records import Event, Fact
from hrmdoc.record.run import Run


def told(pid: object, host: str = platform.node(), beat: float | None = None) -> Run:
    run = Run("runs/a")
    run.add(Fact("run.pid", pid, "run", "run.json"))  # type: ignore[arg-type]
    run.add(Fact("run.host", host, "run", "run.json"))
    if beat is not None:
        run.add(Fact("heartbeat.time", beat, "run", "heartbeat.json"))
    return run


@pytest.fixture(scope="module")
def dead() -> int:
    """The process id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_a_process_that_runs_is_alive() -> None:
    assert [fact.value for fact in process_of(told(os.getpid()))] == [True]


def test_a_process_that_has_ended_is_gone(dead: int) -> None:
    assert [(fact.key, fact.value, fact.file) for fact in process_of(told(dead))] == [
        ("run.process_alive", False, "run.json")
    ]


def test_nothing_is_known_of_a_process_of_another_host(dead: int) -> None:
    assert list(process_of(told(dead, host="another"))) == []


def test_a_number_that_another_process_inherited_is_no_sign_of_life() -> None:
    assert [fact.value for fact in process_of(told(os.getpid(), beat=time.time() - 10**6))] == [False]
    assert [fact.value for fact in process_of(told(os.getpid(), beat=time.time()))] == [True]


def test_a_run_that_told_its_end_is_not_asked_for(dead: int) -> None:
    run = told(dead)
    run.add(Event("end", "events.jsonl"))
    assert list(process_of(run)) == []


@pytest.mark.parametrize("pid", [0, -1, True, "7", 2**70])
def test_what_is_no_process_id_says_nothing(pid: object) -> None:
    assert list(process_of(told(pid))) == []
