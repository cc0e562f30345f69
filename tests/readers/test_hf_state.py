"""hrmdoc.readers.hf_state"""

from __future__ import annotations

import json
from typing import Any

import pytest

from hrmdoc.readers import hf_state
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Event, Fact, Points, Record
from tests.readers.feeding import fed

STATE: dict[str, Any] = {
    "epoch": 1.0,
    "global_step": 20,
    "max_steps": 40,
    "num_train_epochs": 2,
    "train_batch_size": 8,
    "logging_steps": 5,
    "eval_steps": 10,
    "log_history": [
        {"step": 10, "epoch": 0.5, "loss": 2.0, "grad_norm": 1.5, "learning_rate": 0.1},
        {"step": 10, "epoch": 0.5, "eval_loss": 2.5, "eval_runtime": 1.0},
        {"step": 20, "epoch": 1.0, "loss": float("nan"), "grad_norm": float("inf"), "learning_rate": 0.05},
        {"step": 20, "epoch": 1.0, "train_runtime": 3.0, "train_loss": 4.0, "total_flos": 5.0},
    ],
    "stateful_callbacks": {
        "TrainerControl": {"args": {"should_training_stop": True}},
        "EarlyStoppingCallback": {"args": {"early_stopping_patience": 3}},
    },
}


def read(blob: bytes) -> list[Record]:
    session = hf_state.open_session(Context("out/checkpoint-20/trainer_state.json"))
    return fed(session, blob, (100,))


def metrics(records: list[Record]) -> dict[str, tuple[list[int], list[str]]]:
    return {
        r.metric: (r.steps.tolist(), [repr(v) for v in r.values.tolist()])
        for r in records
        if isinstance(r, Points)
    }


def test_the_history_becomes_exact_points_with_bare_nan_tokens() -> None:
    found = metrics(read(json.dumps(STATE).encode()))
    assert found["loss"] == ([10, 20], ["2.0", "nan"])
    assert found["grad_norm"] == ([10, 20], ["1.5", "inf"])
    assert found["eval_loss"] == ([10], ["2.5"])


def test_the_mean_loss_of_the_whole_run_is_a_fact_and_no_point() -> None:
    records = read(json.dumps(STATE).encode())
    assert "train_loss" not in metrics(records)
    assert [r.value for r in records if isinstance(r, Fact) and r.key == "train_loss"] == [4.0]


def test_a_run_time_in_every_row_sums_nothing_up() -> None:
    rows = [
        {"step": at, "epoch": at / 10, "loss": 3.0 - at / 10, "train_runtime": 2.0 * at} for at in (1, 2, 3)
    ]
    records = read(json.dumps({"global_step": 3, "max_steps": 9, "log_history": rows}).encode())
    losses = [one.values.tolist() for one in records if isinstance(one, Points) and one.metric == "loss"]
    assert losses == [[2.9, 2.8, 2.7]]
    assert not any(isinstance(one, Event) and one.kind == "end" for one in records)


def test_what_the_state_says_of_the_run_becomes_canonical_facts() -> None:
    facts = {
        r.key: r.value for r in read(json.dumps(STATE).encode()) if isinstance(r, Fact) and r.scope == "run"
    }
    assert facts["run.total_steps"] == 40
    assert facts["data.micro_batch_size"] == 8
    assert facts["eval.early_stopping"] is True


def test_an_early_stop_is_told() -> None:
    (event,) = [r for r in read(json.dumps(STATE).encode()) if isinstance(r, Event)]
    assert (event.kind, event.step, event.detail) == ("end", 20, "stopped early")


def test_a_running_state_has_no_end() -> None:
    state = {**STATE, "log_history": STATE["log_history"][:3], "stateful_callbacks": {}}
    assert not [r for r in read(json.dumps(state).encode()) if isinstance(r, Event)]


def test_of_a_torn_file_the_whole_entries_are_kept() -> None:
    blob = json.dumps(STATE).encode()
    records = read(blob[: blob.index(b'"train_runtime"')])
    assert metrics(records)["loss"] == ([10, 20], ["2.0", "nan"])
    assert len([r for r in records if isinstance(r, Damage)]) == 1


@pytest.mark.parametrize(
    ("blob", "told"),
    [
        (b"", []),
        (b"\0\0", []),
        (b"[]", ["is no trainer state"]),
        (b'{"log_history": 3}', []),
        (b'{"log_history": [1, null, {"step": "x"}]}', ["2 entries of the history are no objects"]),
        (b"{" * 3000, ["is no valid JSON"]),
    ],
)
def test_foreign_content_is_told_as_damage_and_nothing_is_read_from_it(blob: bytes, told: list[str]) -> None:
    records = read(blob)
    assert [r.what.partition(":")[0] for r in records if isinstance(r, Damage)] == told
    assert len(records) == len(told)
