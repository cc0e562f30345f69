from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hrmdoc.analysis import AnalysisSession
from hrmdoc.errors import InputError
from hrmdoc.preflight import Machine, preflight
from hrmdoc.preflight.derived import parameters
from hrmdoc.record.records import Damage, Fact
from hrmdoc.remedies.own_config import config_facts

MACHINE = Machine(cpu_count=2, disk_free_gib=50.0, version=lambda _: None, importable=lambda _: False)
CONFIG = """\
data_path: data/sudoku
global_batch_size: 4
epochs: 500
lr: 1e-4
lr_warmup_steps: 2000
arch:
  hidden_size: 32
  num_heads: 3
  H_layers: 1
  L_layers: 1
  expansion: 2
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    split = tmp_path / "data" / "sudoku" / "train"
    split.mkdir(parents=True)
    info = {
        "vocab_size": 11,
        "seq_len": 4,
        "ignore_label_id": 0,
        "total_groups": 8,
        "mean_puzzle_examples": 1.0,
        "sets": ["all"],
    }
    (split / "dataset.json").write_text(json.dumps(info))
    np.save(split / "all__inputs.npy", np.full((8, 4), 11, np.uint8))
    np.save(split / "all__labels.npy", np.full((8, 4), 2, np.uint8))
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def values(records: list[Fact | Damage]) -> dict[str, object]:
    return {record.key: record.value for record in records if isinstance(record, Fact)}


def test_config_data_and_machine_come_together(config: Path) -> None:
    records = preflight(config, environment=MACHINE)
    facts = values(records)
    assert (facts["lr"], facts["arch.hidden_size"], facts["config.read"]) == (1e-4, 32, True)
    assert (facts["data.vocab_size"], facts["data.max_token_id"]) == (11, 11)
    assert facts["run.total_steps"] == 1000
    assert facts["model.parameters"] == 58114
    assert (facts["env.cpu_count"], facts["device.kind"], facts["run.kind"]) == (2, "cpu", "hrm")
    place = next(record for record in records if isinstance(record, Fact) and record.key == "arch.num_heads")
    assert (place.scope, place.file, place.line) == ("config", str(config), 8)


@pytest.mark.parametrize(
    ("hidden", "layers", "expansion", "vocab", "count"),
    [
        (512, 8, 4, 11, 27_275_266),
        (512, 8, 4, 6, 27_270_146),
        (32, 2, 2, 11, 58_114),
        (64, 4, 4, 11, 263_682),
    ],
)
def test_the_size_of_hrm_is_known_from_its_config(
    hidden: float, layers: float, expansion: float, vocab: float, count: int
) -> None:
    assert parameters(hidden, layers, expansion, vocab) == count


def test_a_model_is_known_by_its_family(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    for name, family in (
        ("google/flan-t5-base", "t5"),
        ("google/gemma-2-2b", "gemma"),
        ("meta-llama/Llama-3.1-8B", "llama"),
        ("my/attention5", None),
    ):
        path.write_text(f"base_model: {name}\n")
        assert values(preflight(path, environment=MACHINE)).get("model.family") == family


def test_without_a_config_data_and_machine_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text('{"text": "a"}\n')
    facts = values(preflight(None, "d.jsonl", MACHINE))
    assert facts["data.samples"] == 1
    assert "config.read" not in facts


@pytest.mark.parametrize(
    ("text", "what"),
    [("a: [1\n", "not valid YAML"), ("a: 1\na: 2\n", "there twice"), ("a: \0\n", "binary file")],
)
def test_a_config_that_cannot_be_read_is_an_error_with_its_place(
    tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        preflight(path, environment=MACHINE)


def test_values_have_the_type_that_their_text_says(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: 1e-4\nb: 16\nc: yes\nd: y\ne: cosine\nf: null\ng: {}\nh: '32'\ni: 1.0\n")
    facts = values(preflight(path, environment=MACHINE))
    assert [facts[key] for key in "abcdefghi"] == [1e-4, 16, True, "y", "cosine", None, "{}", 32, 1]


def test_the_findings_come_from_the_rulebook(config: Path) -> None:
    session = AnalysisSession(str(config))
    session.run.extend(preflight(config, environment=MACHINE))
    found = {symptom.id: symptom.state for symptom in session.checks().symptoms}
    assert found["token-id-out-of-range"] == "present"
    assert found["heads-do-not-divide-hidden"] == "present"
    assert found["seed-missing"] == "absent", "HRM has a seed of its own"
    assert found["disk-space-low"] == "absent"
    assert found["threads-exceed-cores"] == "not_evaluated"
    assert found["vllm-sync-interval-long"] == "not_evaluated"


def test_data_named_as_config_are_told_where_they_belong(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text("{}\n")
    with pytest.raises(InputError, match="is data, not a config") as caught:
        list(config_facts(data))
    assert "--data" in (caught.value.hint or "")
