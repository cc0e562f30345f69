import json
import os

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.data import DataInfo, PuzzleData, dataset_hash, write_identifiers, write_split

INFO = DataInfo(vocab_size=11, seq_len=9, num_puzzle_identifiers=4)


@pytest.fixture
def dataset(tmp_path):
    """Six examples in three puzzles in two groups."""
    rng = np.random.default_rng(0)
    inputs, labels = rng.integers(1, 11, (2, 6, 9))
    labels[0, :3] = 0
    for split in ("train", "test"):
        write_split(
            tmp_path,
            split,
            INFO,
            inputs.astype(np.uint8),
            labels.astype(np.uint8),
            puzzle_indices=np.array([0, 1, 3, 6]),
            group_indices=np.array([0, 2, 3]),
            puzzle_identifiers=np.array([1, 2, 3]),
        )
    write_identifiers(tmp_path, ["<blank>", "a", "b", "c"])
    return tmp_path


def test_what_is_written_is_read_back(dataset):
    data = PuzzleData(dataset, "train")
    part = data.sets[0]
    assert data.info == DataInfo(11, 9, 4, total_groups=2, mean_puzzle_examples=2.0)
    assert (part.name, part.groups, part.examples, data.examples) == ("all", 2, 6, 6)
    assert part.puzzle_indices.tolist() == [0, 1, 3, 6]
    assert part.group_indices.tolist() == [0, 2, 3]
    assert part.puzzle_identifiers.tolist() == [1, 2, 3]
    assert isinstance(part.inputs, np.memmap)


def test_the_files_are_named_and_typed_as_hrm_expects(dataset):
    names = {file.relative_to(dataset).as_posix() for file in dataset.rglob("*") if file.is_file()}
    kinds = ("inputs", "labels", "puzzle_identifiers", "puzzle_indices", "group_indices")
    splits = {f"{split}/all__{kind}.npy" for split in ("train", "test") for kind in kinds}
    assert names == {"identifiers.json", "train/dataset.json", "test/dataset.json"} | splits
    assert np.load(dataset / "train/all__inputs.npy").dtype == np.uint8
    assert np.load(dataset / "train/all__puzzle_indices.npy").dtype == np.int32
    facts = json.loads((dataset / "train/dataset.json").read_text())
    assert facts == {
        "pad_id": 0, "ignore_label_id": 0, "blank_identifier_id": 0, "vocab_size": 11, "seq_len": 9,
        "num_puzzle_identifiers": 4,
        "total_groups": 2, "mean_puzzle_examples": 2.0, "sets": ["all"],
    }  # fmt: skip


def test_the_ignored_label_becomes_minus_100(dataset):
    data = PuzzleData(dataset, "train")
    batch = data.batch(data.sets[0], np.array([0, 1]), np.array([0, 1]))
    assert batch["labels"][0, :3].tolist() == [-100] * 3
    assert (batch["labels"][0, 3:] > 0).all()
    assert {value.dtype for value in batch.values()} == {np.dtype(np.int32)}
    assert batch["puzzle_identifiers"].tolist() == [1, 2]


def test_a_dataset_that_ignores_no_label_keeps_them_all(dataset):
    file = dataset / "train/dataset.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"ignore_label_id": None}))
    data = PuzzleData(dataset, "train")
    assert data.batch(data.sets[0], np.array([0]), np.array([0]))["labels"][0, 0] == 0


def test_the_hash_does_not_depend_on_times(dataset):
    before = dataset_hash(dataset)
    os.utime(dataset / "train/all__inputs.npy", (1, 1))
    assert dataset_hash(dataset) == before


def test_the_hash_changes_with_one_token_or_one_name(dataset):
    before = dataset_hash(dataset)
    file = dataset / "train/all__inputs.npy"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    changed = dataset_hash(dataset)
    file.rename(dataset / "train/other__inputs.npy")
    assert len({before, changed, dataset_hash(dataset)}) == 3


def test_a_folder_without_a_dataset_has_no_hash(tmp_path):
    with pytest.raises(InputError, match="no dataset"):
        dataset_hash(tmp_path)


def test_a_missing_split_is_named(dataset):
    with pytest.raises(InputError, match=r"valid: there is no such folder"):
        PuzzleData(dataset, "valid")


@pytest.mark.parametrize("name", ["dataset.json", "all__inputs.npy", "all__group_indices.npy"])
def test_a_missing_file_is_named(dataset, name):
    (dataset / "train" / name).unlink()
    with pytest.raises(InputError) as caught:
        PuzzleData(dataset, "train")
    assert caught.value.file == str(dataset / "train" / name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 400,
        b"PK\x03\x04 nothing",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fort",
        b"<html>" * 40,
    ],
)
def test_a_damaged_array_is_named(dataset, content):
    file = dataset / "train/all__labels.npy"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        PuzzleData(dataset, "train")
    assert caught.value.file == str(file)


def test_a_truncated_array_is_named(dataset):
    file = dataset / "train/all__inputs.npy"
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(InputError, match="all__inputs"):
        PuzzleData(dataset, "train")


def test_an_array_of_objects_is_never_unpickled(dataset):
    file = dataset / "train/all__inputs.npy"
    np.save(file, np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="all__inputs"):
        PuzzleData(dataset, "train")


@pytest.mark.parametrize(
    ("kind", "array", "words"),
    [
        ("inputs", np.zeros((6, 8), np.uint8), "seq_len 9"),
        ("inputs", np.zeros((6, 9), np.float32), "whole numbers"),
        ("labels", np.zeros((5, 9), np.uint8), "5 rows"),
        ("puzzle_identifiers", np.array([1, 2]), "names 2 puzzles"),
        ("puzzle_identifiers", np.array([1, 2, 4]), "outside the 4"),
        ("puzzle_indices", np.array([0, 3, 1, 6]), "rise from 0 to 6"),
        ("puzzle_indices", np.array([0, 1, 3, 7]), "rise from 0 to 6"),
        ("group_indices", np.array([1, 2, 3]), "rise from 0 to 3"),
        ("group_indices", np.array([], np.int32), "rise from 0 to 3"),
    ],
)
def test_arrays_that_do_not_fit_together_are_named(dataset, kind, array, words):
    np.save(dataset / f"train/all__{kind}.npy", array)
    with pytest.raises(InputError, match=words) as caught:
        PuzzleData(dataset, "train")
    assert caught.value.file.endswith(f"all__{kind}.npy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "valid JSON"),
        ("{", "valid JSON"),
        ("[1]", "JSON object"),
        ("{}", "lacks vocab_size"),
        ('{"vocab_size": 11, "seq_len": 9, "num_puzzle_identifiers": 1, "total_groups": 1}', "lacks sets"),
        (
            '{"vocab_size": "11", "seq_len": 9, "num_puzzle_identifiers": 1, '
            '"total_groups": 1, "sets": ["all"]}',
            "vocab_size",
        ),
        (
            '{"vocab_size": 11, "seq_len": 9, "num_puzzle_identifiers": 1, '
            '"total_groups": 1, "sets": ["../../x"]}',
            "sets",
        ),
    ],
)
def test_a_wrong_dataset_json_is_named(dataset, text, words):
    (dataset / "train/dataset.json").write_text(text)
    with pytest.raises(InputError, match=words):
        PuzzleData(dataset, "train")


def test_a_dataset_json_in_another_encoding_is_named(dataset):
    (dataset / "train/dataset.json").write_bytes('{"sets": ["ä"]}'.encode("utf-16"))
    with pytest.raises(InputError, match=r"dataset\.json"):
        PuzzleData(dataset, "train")


def test_a_token_outside_the_vocabulary_is_found_when_it_is_read(dataset):
    np.save(dataset / "train/all__inputs.npy", np.full((6, 9), 11, np.uint8))
    data = PuzzleData(dataset, "train")
    with pytest.raises(InputError, match="vocabulary of 11"):
        data.batch(data.sets[0], np.array([0]), np.array([0]))
