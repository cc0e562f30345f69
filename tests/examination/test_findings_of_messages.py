"""What a finding says, whole: lines of a log, events, and silence."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hrmdoc.examination.scene import Finding
from hrmdoc.examination.signatures import SignatureMatch
from hrmdoc.record.records import Event, Line, Tick
from hrmdoc.record.run import Run
from hrmdoc.rulebook import Signature
from tests.examination.small_runs import found, run_of


def line(number: int, text: str = "CUDA out of memory", **more: Any) -> Line:
    return Line(text, "x.log", number, **more)


ROOT = Signature("refused", "oom", "out of memory", ("memory",), "x")


def matched(*lines: Line, signature: Signature = ROOT, **groups: Any) -> dict[str, Any]:
    return {"oom": [(one, SignatureMatch(signature, groups)) for one in lines]}


def test_a_line_says_where_it_stands_and_what_its_pattern_caught() -> None:
    lines = (line(7, time=50.0, step=4, rank=1), line(9, time=60.0, step=8))
    assert found({"lines": {}}, Run("x"), matches=matched(*lines, free=2)) == Finding(
        "present",
        first_step=4,
        last_step=8,
        first_time=50.0,
        count=2,
        values={
            "free": 2,
            "text": "CUDA out of memory",
            "signature": "refused",
            "role": "root",
            "of_last_run": True,
        },
        file="x.log",
        line=7,
        rank=1,
    )


def test_the_earliest_root_speaks_and_a_line_without_a_time_comes_last() -> None:
    cascade = replace(ROOT, id="late", role="cascade")
    several = {
        "oom": [
            (line(1, time=10.0), SignatureMatch(cascade)),
            (line(2), SignatureMatch(ROOT)),
            (line(3, time=30.0), SignatureMatch(ROOT)),
        ]
    }
    assert found({"lines": {}}, Run("x"), matches=several).line == 3
    without = found({"lines": {}}, Run("x"), matches=matched(line(5), line(6)))
    assert (without.line, without.first_time, without.first_step, without.last_step) == (5, None, None, None)


def test_lines_count_from_as_many_on_as_the_rule_asks_for() -> None:
    two = matched(line(1), line(2))
    assert found({"lines": {"at_least": 2}}, Run("x"), matches=two).state == "present"
    assert found({"lines": {"at_least": 3}}, Run("x"), matches=two) == Finding("absent", count=2)
    read = Run("x")
    read.line_count = 1
    assert found({"lines": {}}, read) == Finding("absent", missing=("log lines",))
    assert found({"lines": {}}, Run("x")) == Finding("not_evaluated", missing=("log lines",))
    dumps = Run("x")
    dumps.add(line(1))
    dumps.formats.append("flight_recorder")
    assert found({"lines": {}}, dumps).state == "not_evaluated"
    dumps.formats.append("text")
    assert found({"lines": {}}, dumps).state == "absent"


def test_a_line_that_ends_a_program_is_over_once_training_outlived_it() -> None:
    run = run_of([1, 1, 1, 1, 1, 1, 1, 1])
    assert found({"lines": {}}, run, matches=matched(line(102))).state == "resolved"
    assert found({"lines": {}}, run, matches=matched(line(102), line(500))).state == "present"
    harmless = replace(ROOT, fatal=False)
    assert found({"lines": {}}, run, matches=matched(line(102), signature=harmless)).state == "present"
    recovers = {"lines": {"recovers": True}}
    assert found(recovers, run, matches=matched(line(102), signature=harmless)).state == "resolved"


def test_an_event_says_where_the_first_and_the_last_that_count_stand() -> None:
    run = Run("x")
    for at in (1, 2, 3):
        run.add(Event("restart", "x.log", at, 10 * at, 100.0 * at, at, f"attempt {at}"))
    assert found({"event": {"kind": "restart", "at_least": 2}}, run) == Finding(
        "present",
        first_step=20,
        last_step=30,
        first_time=200.0,
        count=3,
        values={"detail": "attempt 3"},
        file="x.log",
        line=3,
        rank=2,
    )
    assert found({"event": {"kind": "restart", "at_least": 4}}, run) == Finding("absent", count=3)
    only = {"event": {"kind": "restart", "pattern": "attempt [12]"}}
    assert (found(only, run).count, found(only, run).first_step) == (2, 20)
    assert found({"event": {"kind": "checkpoint"}}, run) == Finding("absent")
    run.add(Event("resume", "x.log", 9))
    assert found({"event": {"kind": "restart"}}, run).count == 4, "a resume is a restart"
    assert found({"event": {"kind": "resume"}}, run).count == 1
    assert found({"event": {"kind": "restart"}}, Run("x")).missing == ("lifecycle events",)


@pytest.mark.parametrize(
    ("steps", "state"), [([0, 10], "present"), ([0, 11], "absent"), ([5, None], "absent")]
)
def test_events_are_near_up_to_so_many_steps(steps: list[int | None], state: str) -> None:
    run = Run("x")
    run.extend(Event("restart", "x.log", 1, step) for step in steps)
    assert found({"event": {"kind": "restart", "at_least": 2, "within_steps": 10}}, run).state == state


SILENCE = {"silence": {"factor": 10, "floor": 30, "start": 90}}


@pytest.mark.parametrize(
    ("values", "tick", "state", "limit"),
    [
        ([1.0] * 3, Tick(50.0), "present", 50.0),
        ([1.0] * 3, Tick(49.0), "absent", 50.0),
        ([1.0] * 2, Tick(89.0), "absent", 90.0),  # of two points there is no usual pause
        ([1.0] * 2, Tick(90.0), "present", 90.0),
        ([1.0] * 2, Tick(90.0, usual=2.0), "present", 30.0),
        ([1.0] * 2, Tick(29.0, usual=2.0), "absent", 30.0),
    ],
)
def test_a_run_is_silent_from_a_multiple_of_its_usual_pause_on(
    values: list[float], tick: Tick, state: str, limit: float
) -> None:
    run = run_of(values)
    run.add(tick)
    told = found(SILENCE, run)
    assert (told.state, told.values["enter"], told.values["value"]) == (state, limit, tick.quiet)


@pytest.mark.parametrize(
    ("total", "state"), [(21, "absent"), (22, "present"), ("auto", "present"), (None, "present")]
)
def test_a_run_at_its_last_step_is_not_silent(total: object, state: str) -> None:
    run = run_of([1.0] * 3)
    run.add(Tick(9999.0))
    told = found(SILENCE, run, facts={"run.total_steps": total})
    assert told.state == state
    if state == "present":
        assert (told.first_step, told.last_step, told.first_time, told.count) == (20, 20, 1010.0, 1)


def test_silence_of_a_run_without_points_has_no_step() -> None:
    run = Run("x")
    run.line_count = 1
    run.add(Tick(9999.0))
    told = found(SILENCE, run)
    assert (told.state, told.count, told.first_step) == ("present", 1, None)
    assert found(SILENCE, Run("x")).missing == ("a live run",)
