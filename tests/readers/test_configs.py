"""hrmdoc.readers.configs, run_json and torchrun: documents beside a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hrmdoc.readers import configs, run_json, torchrun
from hrmdoc.readers.support.base import Context, Reader
from hrmdoc.record.records import Damage, Event, Fact, Line, Record
from tests.readers.feeding import fed


def read(reader: Reader, path: str, text: str | bytes) -> list[Record]:
    blob = text.encode() if isinstance(text, str) else text
    session = reader.open_session(Context(path))
    return fed(session, blob, (5,))


def facts(records: list[Record]) -> dict[str, tuple[object, int | None]]:
    return {r.key: (r.value, r.line) for r in records if isinstance(r, Fact)}


def test_yaml_gives_dotted_keys_with_their_lines_and_reads_1e_4_as_a_number() -> None:
    text = (
        "# HRM\nlr: 1e-4\narch:\n  halt_max_steps: 16  # ACT\n  loss: {name: x, on: yes}\nrun_name: "
        "null\nbetas: [0.9, 0.95]\n"
    )
    assert facts(read(configs, "config.yaml", text)) == {
        "lr": (1e-4, 2),
        "arch.halt_max_steps": (16, 4),
        "arch.loss.name": ("x", 5),
        "arch.loss.on": ("yes", 5),
        "run_name": (None, 6),
        "betas": ("0.9, 0.95", 7),
    }


def test_json_gives_dotted_keys_with_their_lines() -> None:
    text = (
        '{\n "train_micro_batch_size_per_gpu": 4,\n "bf16": {\n  "enabled": true\n },\n "fp16": {\n  '
        '"enabled": false\n }\n}\n'
    )
    assert facts(read(configs, "ds_config.json", text)) == {
        "train_micro_batch_size_per_gpu": (4, 2),
        "bf16.enabled": (True, 4),
        "fp16.enabled": (False, 7),
    }


def test_of_the_labels_of_a_model_their_number_counts() -> None:
    text = '{"model_type": "bert",\n "id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {"a": 0}}'
    assert facts(read(configs, "config.json", text)) == {"model_type": ("bert", 1), "id2label": (3, None)}


def test_the_wrapped_values_of_wandb_are_unwrapped() -> None:
    text = "wandb_version: 1\n\n_wandb:\n  value:\n    cli_version: 1\nlr:\n  desc: null\n  value: 0.1\n"
    text += "arch:\n  value:\n    hidden_size: 8\n"
    assert {key: value for key, (value, _) in facts(read(configs, "config.yaml", text)).items()} == {
        "lr": 0.1,
        "arch.hidden_size": 8,
    }


def test_the_described_values_of_swanlab_are_unwrapped() -> None:
    text = "lr:\n  desc: ''\n  sort: 0\n  value: 0.1\n"
    text += "arch:\n  desc: ''\n  sort: 1\n  value:\n    hidden_size: 8\n"
    assert {key: value for key, (value, _) in facts(read(configs, "config.yaml", text)).items()} == {
        "lr": 0.1,
        "arch.hidden_size": 8,
    }


def test_a_description_of_the_users_own_unwraps_nothing() -> None:
    text = "lr:\n  desc: mine\n  value: 0.1\nseed: 1\n"
    assert set(facts(read(configs, "config.yaml", text))) == {"lr.value", "seed"}


def test_a_broken_config_is_reported_with_its_line() -> None:
    (damage,) = read(configs, "config.yaml", "lr: 1\n  x: [1,\n")
    assert isinstance(damage, Damage)
    assert damage.line in (2, 3)


@pytest.mark.parametrize(
    ("blob", "found"),
    [
        (b"\0\0lr: 1", ["Damage"]),
        (b"a: &a [*a]\nlr: 1\n", [("lr", 1)]),
        (b"- 1\n- 2\n", []),
        (b"{" * 900, ["Damage"]),
        (b"lr: !!python/object:os.system x\n", [("lr", "x")]),
        (b"? [a, b]\n: 1\n", [("('a', 'b')", 1)]),
    ],
)
def test_of_hostile_yaml_the_plain_values_are_read_and_nothing_runs(blob: bytes, found: list[object]) -> None:
    records = read(configs, "config.yaml", blob)
    assert [(r.key, r.value) if isinstance(r, Fact) else type(r).__name__ for r in records] == found


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("docker-compose.yaml", "services:\n  web: 1\n", False),
        ("trainer_state.json", '{"log_history": []}', False),
        ("all_config.yaml", "lr: 1e-4\narch:\n  hidden_size: 512\n", True),
        ("my.yaml", "learning_rate: 1e-4\nbatch_size: 3\n", True),
        ("config.json", '{"model_type": "gpt2", "n_embd": 3}', True),
    ],
)
def test_sniff(name: str, text: str, taken: bool) -> None:
    assert (configs.sniff(Path(name), text.encode()) > 0.5) is taken


def test_run_json_states_canonical_facts_versions_and_environment() -> None:
    tree = {
        "schema": "hrmdoc.run/1",
        "id": "x",
        "seed": 3,
        "samples": 1000,
        "parameters": 58114,
        "total_steps": 26041,
        "vocab_size": 11,
        "versions": {"torch": "2.13.0"},
        "env": {"OMP_NUM_THREADS": "8"},
        "plan": {"num_workers": 0},
        "extra": {"deep": 1},
    }
    records = read(run_json, "run.json", json.dumps(tree))
    found = {(r.scope, r.key): r.value for r in records if isinstance(r, Fact)}
    assert found["run", "seed"] == 3
    assert found["run", "run.total_steps"] == 26041
    assert found["run", "data.vocab_size"] == 11
    assert found["version", "torch"] == "2.13.0"
    assert found["env", "OMP_NUM_THREADS"] == "8"
    assert found["run", "env.omp_num_threads"] == 8
    assert found["run", "run.extra.deep"] == 1


def test_the_heartbeat_is_three_facts() -> None:
    assert facts(read(run_json, "heartbeat.json", '{"time": 1.7e9, "step": 5, "pid": 7}')) == {
        "heartbeat.time": (1.7e9, None),
        "heartbeat.step": (5, None),
        "heartbeat.pid": (7, None),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [("", []), ("[]", ["is no mapping"]), ("{", ["is no valid JSON"]), ("3", ["is no mapping"])],
)
def test_a_foreign_run_json_is_damaged_unless_it_is_empty(text: str, told: list[str]) -> None:
    records = read(run_json, "run.json", text)
    assert [r.what.partition(":")[0] for r in records if isinstance(r, Damage)] == told
    assert len(records) == len(told)


def test_a_schema_that_is_no_number_is_an_empty_word() -> None:
    assert facts(read(run_json, "run.json", '{"schema": []}')) == {"run.schema": ("", None)}


def test_the_error_file_of_torchrun_is_an_exception_with_its_stack() -> None:
    stack = "Traceback (most recent call last):\n  File x\nRuntimeError: boom"
    text = json.dumps(
        {
            "message": {
                "message": "RuntimeError: boom",
                "extraInfo": {"py_callstack": stack, "timestamp": "1795232956"},
            }
        }
    )
    records = read(torchrun, "error.json", text)
    assert [r.text for r in records if isinstance(r, Line)] == [*stack.splitlines(), "RuntimeError: boom"]
    assert [(r.kind, r.time, r.detail) for r in records if isinstance(r, Event)] == [
        ("exception", 1795232956.0, "RuntimeError: boom")
    ]
    assert [
        r.detail for r in read(torchrun, "error.json", '{"message": "plain"}') if isinstance(r, Event)
    ] == ["plain"]


def test_python_that_only_gives_values_to_names_is_a_config_and_a_program_is_none(tmp_path: Path) -> None:
    config = b"# mmengine\noptimizer = dict(type='SGD', lr=1e-2)\ntrain_cfg = dict(max_epochs=2 * 50)\n"
    assert configs.sniff(tmp_path / "config.py", config) > 0.5
    assert facts(read(configs, "config.py", config)) == {
        "optimizer.type": ("SGD", 2),
        "optimizer.lr": (0.01, 2),
        "train_cfg.max_epochs": (100, 3),
    }
    program = b"import torch\nlr = 1e-2\nepochs = 3\nfor epoch in range(epochs):\n    pass\n"
    assert configs.sniff(tmp_path / "train.py", program) == 0.0
    assert facts(read(configs, "train.py", program)) == {}
