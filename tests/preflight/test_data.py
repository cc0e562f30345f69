from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.preflight.data import data_facts
from hrmdoc.record.records import Damage, Fact, Value


def looked_at(place: Path, **config: Any) -> tuple[dict[str, Value], list[Damage]]:
    known = {key: Fact(key, value, "config") for key, value in config.items()}
    records = list(data_facts(place, known))
    facts = {record.key: record.value for record in records if isinstance(record, Fact)}
    return facts, [record for record in records if isinstance(record, Damage)]


def jsonl(path: Path, *samples: object) -> Path:
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return path


def test_tokenized_samples_give_lengths_masks_and_ids(tmp_path: Path) -> None:
    good = {"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}
    facts, damages = looked_at(
        jsonl(
            tmp_path / "d.jsonl", good, good, {"input_ids": [9] * 5, "labels": [-100] * 5}, {"input_ids": []}
        ),
        sequence_len=4,
    )
    assert damages == []
    assert facts["data.samples"] == 4
    assert (facts["data.min_token_id"], facts["data.max_token_id"]) == (1, 9)
    assert facts["data.masked_fraction"] == pytest.approx(7 / 11)
    assert facts["data.empty_fraction"] == 0.5  # one has no tokens, one no label
    assert facts["data.overlong_fraction"] == 0.25


def test_a_sample_without_anything_to_learn_counts_as_empty(tmp_path: Path) -> None:
    samples: list[dict[str, Any]] = [
        {"prompt": "hi", "completion": "yes"},
        {"prompt": "hi", "completion": " "},
        {"question": "hi", "answer": "", "output": "yes"},
        {"prompt": "hi", "answer": ["yes"]},
    ]
    assert looked_at(jsonl(tmp_path / "d.jsonl", *samples))[0]["data.empty_fraction"] == 0.25
    tokens = [{"input_ids": [1, 2], "labels": [-100, 2]}, {"input_ids": [1, 2], "labels": [-100, -100]}]
    assert looked_at(jsonl(tmp_path / "t.jsonl", *tokens))[0]["data.empty_fraction"] == 0.5


def test_text_counts_as_empty_only_when_no_column_holds_any(tmp_path: Path) -> None:
    samples = [
        {"messages": [{"role": "user", "content": "hi"}]},
        {"prompt": "", "completion": "yes"},
        {"text": "   "},
        {"prompt": None, "completion": []},
    ]
    assert looked_at(jsonl(tmp_path / "d.jsonl", *samples))[0]["data.empty_fraction"] == 0.5


def test_columns_that_a_reward_needs_are_named(tmp_path: Path) -> None:
    assert (
        looked_at(jsonl(tmp_path / "a.jsonl", {"prompt": "p", "solution": "s"}))[0]["data.missing_columns"]
        == ""
    )
    assert (
        looked_at(jsonl(tmp_path / "b.jsonl", {"prompt": "p", "id": 1}))[0]["data.missing_columns"]
        == "answer"
    )


def test_bad_lines_are_told_with_their_place_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\n\n{"text": \n[1]\n\xff\xfe{"text"\n{"text": "b"}')
    facts, damages = looked_at(path)
    assert facts["data.samples"] == 2
    assert [damage.line for damage in damages] == [3, 4, 5]


@pytest.mark.parametrize("blob", [b"", b"\n\n", b"\x00" * 100, b"x" * 1_000_000, b"[" * 100_000])
def test_a_file_without_samples_is_damage(tmp_path: Path, blob: bytes) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(blob)
    facts, damages = looked_at(path)
    assert damages[-1].what == "holds no samples"
    assert "data.samples" not in facts


def test_csv_and_json_are_read_too(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text('question,answer\n"1, 2",3\n,\nonly one\n')
    facts, damages = looked_at(table)
    assert (facts["data.samples"], facts["data.empty_fraction"], facts["data.columns"]) == (
        2,
        0.5,
        "answer, question",
    )
    assert [damage.line for damage in damages] == [4]
    whole = tmp_path / "w.json"
    whole.write_text(json.dumps({"version": 1, "data": [{"text": "a"}, 3]}))
    facts, damages = looked_at(whole)
    assert facts["data.samples"] == 1
    assert damages[0].what == "sample 1 is no object"


def hrm(folder: Path, inputs: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], **info: object) -> Path:
    split = folder / "train"
    split.mkdir(parents=True)
    base = {
        "vocab_size": 11,
        "seq_len": 4,
        "ignore_label_id": 0,
        "total_groups": len(inputs),
        "mean_puzzle_examples": 1.0,
        "sets": ["all"],
    }
    (split / "dataset.json").write_text(json.dumps(base | info))
    np.save(split / "all__inputs.npy", inputs)
    np.save(split / "all__labels.npy", labels)
    return folder


def test_a_data_set_in_hrms_layout_is_read(tmp_path: Path) -> None:
    inputs = np.array([[1, 2, 3, 10], [0, 0, 0, 1]], np.uint8)
    labels = np.array([[2, 2, 0, 10], [0, 0, 0, 0]], np.uint8)
    facts, damages = looked_at(hrm(tmp_path, inputs, labels))
    assert damages == []
    assert (facts["data.vocab_size"], facts["data.seq_len"], facts["data.samples"]) == (11, 4, 2)
    assert (facts["data.min_token_id"], facts["data.max_token_id"]) == (0, 10)
    assert (facts["data.masked_fraction"], facts["data.empty_fraction"]) == (5 / 8, 0.5)


@pytest.mark.parametrize(
    ("inputs", "labels", "what"),
    [
        (np.zeros((2, 5), np.uint8), np.zeros((2, 5), np.uint8), "seq_len is 4"),
        (np.zeros((2, 4), np.uint8), np.zeros((3, 4), np.uint8), "2 inputs and 3 labels"),
        (np.zeros((2, 4), np.float32), np.zeros((2, 4), np.uint8), "not whole numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_damage(
    tmp_path: Path, inputs: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], what: str
) -> None:
    damages = looked_at(hrm(tmp_path, inputs, labels))[1]
    assert what in damages[0].what


def test_a_pickled_or_truncated_array_is_not_loaded(tmp_path: Path) -> None:
    folder = hrm(tmp_path, np.zeros((2, 4), np.uint8), np.zeros((2, 4), np.uint8))
    np.save(folder / "train" / "all__labels.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "cannot be read" in looked_at(folder)[1][0].what
    (folder / "train" / "all__inputs.npy").write_bytes(b"\x93NUMPY")
    assert "cannot be read" in looked_at(folder)[1][0].what


def test_a_folder_of_another_kind_is_damage_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert "no data set in HRM's layout" in looked_at(tmp_path)[1][0].what
    (tmp_path / "dataset.json").write_text("{")
    assert "not JSON" in looked_at(tmp_path)[1][0].what
    with pytest.raises(InputError, match="does not exist"):
        list(data_facts(tmp_path / "none", {}))


def test_a_checksum_file_beside_the_data_is_found(tmp_path: Path) -> None:
    (tmp_path / "mbpp").mkdir()
    path = jsonl(tmp_path / "mbpp" / "train.jsonl", {"text": "a"})
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    (tmp_path / ".mbpp.md5").write_text(f"{md5}  data/mbpp/train.jsonl\n")
    facts, _ = looked_at(path)
    assert facts["data.hash_now"] == facts["data.hash_recorded"] == md5
    (tmp_path / ".mbpp.md5").write_text(f"{md5}  data/mbpp/test.jsonl\n{md5[::-1]}  data/mbpp/train.jsonl\n")
    assert looked_at(path)[0]["data.hash_recorded"] == md5[::-1]


def test_the_config_can_record_the_checksum_and_without_one_only_the_present_is_known(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "d.jsonl", {"text": "a"})
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    facts, _ = looked_at(path, data_hash=f"sha256:{sha}")
    assert facts["data.hash_now"] == facts["data.hash_recorded"] == sha
    assert "data.hash_recorded" not in looked_at(path)[0]
