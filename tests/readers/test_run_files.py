"""What trainers and torchrun keep of a run in JSON, fact by fact."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hrmdoc.readers import run_json, torchrun
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Line, Record
from tests.readers.feeding import fed


def read(reader: Any, tree: Any) -> list[Record]:
    return fed(reader.open_session(Context("x.json", rank=2)), json.dumps(tree).encode())


def test_what_torchrun_keeps_of_a_failure_is_its_stack_its_message_and_an_exception() -> None:
    extra = {"py_callstack": "a\nb", "timestamp": "1767322000"}
    assert read(torchrun, {"message": {"message": "boom\nhere", "extraInfo": extra}}) == [
        *(Line(text, "x.json", 1, 1_767_322_000.0, 2) for text in ("a", "b", "boom", "here")),
        Event("exception", "x.json", 1, None, 1_767_322_000.0, 2, "boom\nhere"),
    ]
    plain = read(torchrun, {"message": "boom"})
    assert [type(one).__name__ for one in plain] == ["Line", "Event"]
    assert read(torchrun, {"message": 7}) == [Damage("x.json", None, "holds no message")]
    long = read(torchrun, {"message": {"message": "x\n" * 52, "extraInfo": {"py_callstack": "y\n" * 401}}})
    assert [one for one in long if isinstance(one, Damage)] == [
        Damage("x.json", 1, "1 more lines of its text were left out", left_out=1),
        Damage("x.json", 1, "2 more lines of its text were left out", left_out=2),
    ]
    assert len(long) == 400 + 50 + 2 + 1
    (event,) = [one for one in read(torchrun, {"message": "x" * 2001}) if isinstance(one, Event)]
    assert len(event.detail) == 2000


def test_a_description_of_a_run_is_facts_in_canonical_words() -> None:
    tree = {
        "schema": "hrmdoc.run/1",
        "command": ["train.py", "a b"],
        "parameters": 7,
        "own": {"key": 1},
        "versions": {"torch": "2.4"},
        "config": {"lr": 0.1},
        "env": {"OMP_NUM_THREADS": "4", "X": "y"},
        "state": None,
    }
    found = [(one.scope, one.key, one.value) for one in read(run_json, tree) if isinstance(one, Fact)]
    assert found == [
        ("run", "run.schema", "hrmdoc.run/1"), ("run", "run.command", "python train.py 'a b'"),
        ("run", "model.parameters", 7), ("run", "run.own.key", 1), ("version", "torch", "2.4"),
        ("config", "lr", 0.1), ("run", "env.omp_num_threads", 4), ("env", "OMP_NUM_THREADS", "4"),
        ("env", "X", "y"),
    ]  # fmt: skip
    beat = read(run_json, {"time": 1.5, "step": 3, "pid": 7, "state": "running", "x": 1})
    assert [(fact.key, fact.value) for fact in beat if isinstance(fact, Fact)] == [
        ("heartbeat.time", 1.5), ("heartbeat.step", 3), ("heartbeat.pid", 7), ("heartbeat.state", "running"),
    ]  # fmt: skip
    assert read(run_json, [1]) == [Damage("x.json", None, "is no mapping")]


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        (["a/__main__.py", "x"], "python -m a x"),
        (["run.sh", "x"], "run.sh x"),
        (["train.py"], "python train.py"),
        ("train", "train"),
        ([], ""),
    ],
)
def test_a_command_is_told_as_one_types_it(command: Any, typed: str) -> None:
    told = read(run_json, {"schema": "s", "command": command})
    facts = {one.key: one.value for one in told if isinstance(one, Fact)}
    assert facts["run.command"] == typed
