"""What is read of a trainer's state and of a flight recorder's dump, fact by fact."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from hrmdoc.readers import flight_recorder, hf_state, jsonl
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Line, Points, Record
from tests.readers.feeding import fed


def state(**tree: Any) -> list[Record]:
    session = hf_state.open_session(Context("trainer_state.json"))
    return fed(session, json.dumps({"log_history": [], **tree}).encode())


def facts(records: list[Record]) -> dict[str, Any]:
    return {f"{one.scope} {one.key}": one.value for one in records if isinstance(one, Fact)}


def events(records: list[Record]) -> list[tuple[int | None, str]]:
    return [(one.step, one.detail) for one in records if isinstance(one, Event)]


def test_numbers_of_a_state_are_facts_where_they_mean_something() -> None:
    told = facts(state(max_steps=100, num_train_epochs=2**31, eval_steps=0, best_metric=0.5, total_flos=0))
    assert told["run run.total_steps"] == 100
    assert told["config best_metric"] == 0.5
    assert not {"run run.epochs", "run eval.interval", "config total_flos"} & set(told)
    assert facts(state(num_train_epochs=2**31 - 1))["run run.epochs"] == 2**31 - 1


def test_a_callback_tells_whether_the_run_may_stop_early_and_after_how_many_evaluations() -> None:
    stopping = {"EarlyStoppingCallback": {"args": {"early_stopping_patience": 5}}}
    assert facts(state(stateful_callbacks=stopping)) == {
        "run eval.early_stopping": True,
        "config early_stopping_patience": 5,
    }
    assert facts(state(stateful_callbacks={})) == {"run eval.early_stopping": False}
    assert facts(state()) == {}


@pytest.mark.parametrize(
    ("step", "total", "stops", "said"),
    [
        (50, 100, True, [(50, "stopped early")]),
        (100, 100, True, []),
        (50, 100, False, []),
        ("x", 100, True, []),
        (50, None, True, []),
    ],
)
def test_a_run_that_was_told_to_stop_before_its_last_step_stopped_early(
    step: Any, total: Any, stops: bool, said: list[tuple[int, str]]
) -> None:
    control = {"TrainerControl": {"args": {"should_training_stop": stops}}}
    assert events(state(global_step=step, max_steps=total, stateful_callbacks=control)) == said


def test_the_last_row_of_a_history_sums_the_run_up_and_ends_it() -> None:
    history = [
        {"step": 1, "loss": 2.0},
        7,
        {"step": 2, "loss": 1.0, "train_runtime": 8.0},  # of a version that tells its time with each record
        {"step": 2, "train_loss": 1.5, "train_runtime": 9.0},
    ]
    told = state(log_history=history, global_step=2)
    curves = {one.metric: one.values.tolist() for one in told if isinstance(one, Points)}
    assert curves == {"loss": [2.0, 1.0]}
    assert facts(told) == {"config train_loss": 1.5, "config train_runtime": 9.0}
    assert events(told) == [(2, "training ended")]
    what = "1 entries of the history are no objects"
    assert [one for one in told if isinstance(one, Damage)] == [
        Damage("trainer_state.json", None, what, left_out=1)
    ]


def dump(tree: Any, rank: int | None = 3) -> list[Record]:
    session = flight_recorder.open_session(Context("trace", rank=rank))
    return fed(session, pickle.dumps(tree, protocol=2))


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {"collective_seq_id": number, "process_group": ("0", "default"), "state": "scheduled", **more}


def test_a_group_tells_what_was_enqueued_what_was_completed_and_what_is_waited_for() -> None:
    frames = [
        {"filename": "/x/torch/nn.py", "line": 1},
        {"filename": "/x/train.py", "line": 12},
        {"filename": "/x/main.py", "line": 3},
    ]
    told = dump(
        {
            "entries": [
                entry(4, state="completed"),
                entry(5, retired=True),
                entry(7, profiling_name="gather"),
                entry(6, profiling_name="all_reduce", input_sizes=[[8, 4], [2], 7], frames=frames),
                entry(9, is_p2p=True),
                {"seq_id": 8, "pg_id": 1, "state": "completed"},
            ],
            "pg_status": {"0": {"last_enqueued_collective": 8, "last_completed_collective": 5}},
            "pg_config": {"0": {"ranks": "[0, 1]"}, "1": {"ranks": [2, 3]}, "2": {"ranks": ["x"]}},
        }
    )
    assert facts(told) == {
        "run fr.3.0.enqueued": 8,
        "run fr.3.0.completed": 5,
        "run fr.3.0.waiting": 6,
        "run fr.3.0.operation": "all_reduce",
        "run fr.3.0.sizes": "8x4 2",
        "run fr.3.0.place": "(train.py:12)",
        "run fr.3.1.enqueued": 8,
        "run fr.3.1.completed": 8,
        "run fr.members.0": "0,1",
        "run fr.members.1": "2,3",
    }
    assert events(told) == [(None, "waits in all_reduce number 6 of group 0 (train.py:12)")]
    assert {one.rank for one in told if isinstance(one, Event)} == {3}


def test_a_dump_without_names_waits_in_a_collective_of_rank_zero() -> None:
    told = dump([entry(0)], rank=None)
    assert facts(told)["run fr.0.0.waiting"] == 0
    assert events(told) == [(None, "waits in a collective number 0 of group 0")]
    only = dump({"entries": [entry(0)], "pg_config": {"default": {"ranks": "0 1"}}})
    assert facts(only)["run fr.members.0"] == "0,1", "the only group is the one that is meant"


def test_groups_beyond_those_that_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "_MOST_GROUPS", 2)
    groups = [entry(1, process_group=(str(number), "x")) for number in range(4)]
    told = dump({"entries": groups, "pg_status": {"1": {}, "9": {}}})
    said = [one for one in told if isinstance(one, Damage)]
    assert said == [Damage("trace", None, "3 process groups were left out", left_out=3)]
    assert not any("fr.3.2." in name for name in facts(told))


def test_what_is_no_dump_is_said_to_be_none() -> None:
    assert dump({"x": 1}) == [Damage("trace", None, "is a pickle, but no flight-recorder dump")]
    torn = fed(flight_recorder.open_session(Context("trace")), pickle.dumps([entry(1)])[:-9])
    (damage,) = torn
    assert isinstance(damage, Damage)
    assert damage.what.startswith("is no whole flight-recorder dump: ")


@pytest.mark.parametrize(("lines", "left_out"), [(400, 0), (403, 3)])
def test_of_a_long_text_in_a_record_beginning_and_end_are_kept(lines: int, left_out: int) -> None:
    text = "\n".join(f"line {number}" for number in range(lines))
    row = {"step": 7, "message": text, "time": 1_767_322_000}
    asked = Context("a.jsonl", rank=2, wanted=lambda _: [0])  # a signature asks for its line
    told = fed(jsonl.open_session(asked), json.dumps(row).encode() + b"\n")
    kept = [one for one in told if isinstance(one, Line)]
    assert len(kept) == 400
    assert [kept[at].text for at in (0, 199, 200, -1)] == [
        "line 0", "line 199", f"line {200 + left_out}", f"line {lines - 1}",
    ]  # fmt: skip
    assert {(one.line, one.rank, one.step, one.time) for one in kept} == {(1, 2, 7, 1_767_322_000.0)}
    what = f"{left_out} lines in the middle of its 'message' were left out"
    expected = [Damage("a.jsonl", 1, what, left_out=left_out)] if left_out else []
    assert [one for one in told if isinstance(one, Damage)] == expected
    assert np.isfinite(kept[0].time)
