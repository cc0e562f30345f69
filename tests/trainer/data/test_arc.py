import json

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.data import PuzzleData, build_arc
from hrmdoc.trainer.data.arc import augmentations, canvas
from hrmdoc.trainer.data.arc_files import SIDE, Task
from hrmdoc.trainer.data.iterate import TrainIterator

TASK = {
    "train": [{"input": [[0, 1], [2, 3]], "output": [[1, 1, 1]]}, {"input": [[5]], "output": [[4]]}],
    "test": [{"input": [[7, 8]], "output": [[8], [7]]}],
}


@pytest.fixture
def source(tmp_path):
    for folder, name in (("training", "aaa"), ("evaluation", "bbb")):
        (tmp_path / "raw" / folder).mkdir(parents=True)
        (tmp_path / "raw" / folder / f"{name}.json").write_text(json.dumps(TASK))
    return tmp_path / "raw"


def grids(*rows):
    return tuple(np.array(grid, np.uint8) for grid in rows)


def test_a_grid_lies_on_the_canvas_with_end_marks_below_and_to_the_right():
    sheet = canvas(grids([[0, 9]], [[3]]), top=1, left=2)[0].reshape(SIDE, SIDE)
    assert sheet[1, 2:5].tolist() == [2, 11, 1]
    assert sheet[2, 2:5].tolist() == [1, 1, 0]
    assert np.count_nonzero(sheet) == 5


def test_a_grid_as_large_as_the_canvas_has_no_end_mark():
    full = np.zeros((SIDE, SIDE), np.uint8)
    assert (canvas((full, full)) == 2).all()


def test_input_and_output_are_translated_together():
    sheets = canvas(grids([[5]], [[5, 5], [5, 5]]), top=3, left=4).reshape(2, SIDE, SIDE)
    assert sheets[0, 3, 4] == sheets[1, 3, 4] == 7


def test_augmentations_differ_keep_black_and_name_their_change():
    task = Task("x", [grids([[0, 1], [2, 3]], [[1]])], [])
    found = augmentations(task, 30, np.random.default_rng(0))
    assert len(found) == 31
    assert found[0] is task
    assert len({puzzle.train[0][0].tobytes() for puzzle in found}) == 31
    for puzzle in found[1:]:
        name, turn, colours = puzzle.name.split("_")
        assert (name, turn[0], colours[0], sorted(colours)) == ("x", "t", "0", list("0123456789"))
        assert puzzle.train[0][1].item() == int(colours[1])
        assert np.count_nonzero(puzzle.train[0][0] == 0) == 1


def test_a_task_with_few_distinct_augmentations_gets_fewer():
    black = Task("x", [grids([[0]], [[0]])], [])
    assert augmentations(black, 10, np.random.default_rng(0)) == [black]


def test_test_pairs_of_evaluation_tasks_are_held_out_and_no_others(source, tmp_path):
    data = build_arc([source], tmp_path / "out", num_aug=0)
    train, test = PuzzleData(data, "train"), PuzzleData(data, "test")
    assert (train.info.vocab_size, train.info.seq_len, train.info.num_puzzle_identifiers) == (12, 900, 3)
    names = json.loads((data / "identifiers.json").read_text())
    assert names == ["<blank>", "aaa", "bbb"]
    per_puzzle = np.diff(train.sets[0].puzzle_indices)
    sizes = {names[i]: int(n) for i, n in zip(train.sets[0].puzzle_identifiers, per_puzzle, strict=True)}
    assert sizes == {"aaa": 3, "bbb": 2}
    assert [names[i] for i in test.sets[0].puzzle_identifiers] == ["bbb"]
    assert test.sets[0].inputs[0].reshape(SIDE, SIDE)[0, :3].tolist() == [9, 10, 1]  # not translated
    assert (test.sets[0].labels[0].reshape(SIDE, SIDE)[:3, 0]).tolist() == [10, 9, 1]


def test_every_augmentation_has_its_own_identifier_in_the_group_of_its_task(source, tmp_path):
    data = PuzzleData(build_arc([source], tmp_path / "out", num_aug=5), "train")
    part = data.sets[0]
    assert part.group_indices.tolist() == [0, 6, 12]
    assert sorted(part.puzzle_identifiers.tolist()) == list(range(1, 13))
    assert next(TrainIterator(data, 4))["inputs"].shape == (4, 900)


def test_one_pair_of_each_training_puzzle_stays_at_the_corner(source, tmp_path):
    part = PuzzleData(build_arc([source], tmp_path / "out", num_aug=20), "train").sets[0]
    corner = (part.inputs[:, 0] > 0) & (part.labels[:, 0] > 0)
    at_corner = [
        corner[a:b].sum() for a, b in zip(part.puzzle_indices, part.puzzle_indices[1:], strict=False)
    ]
    assert min(at_corner) >= 1
    assert corner.mean() < 0.6


def test_the_seed_decides_the_dataset(source, tmp_path):
    inputs = [
        PuzzleData(build_arc([source], tmp_path / "out", num_aug=3, seed=s), "train").sets[0].inputs[:]
        for s in (1, 1, 2)
    ]
    assert (inputs[0] == inputs[1]).all()
    assert (inputs[0] != inputs[2]).any()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "valid JSON"),
        ("[]", "no ARC task"),
        ('{"train": [1], "test": []}', "no object"),
        ('{"train": [{"input": [[1]]}], "test": []}', "no rectangle"),
        ('{"train": [{"input": [[1, 2], [3]], "output": [[1]]}], "test": []}', "no rectangle"),
        ('{"train": [{"input": [[]], "output": [[1]]}], "test": []}', "no rectangle"),
        (json.dumps({"train": [{"input": [[1] * 31], "output": [[1]]}], "test": []}), "no rectangle"),
        ('{"train": [{"input": [[10]], "output": [[1]]}], "test": []}', "colour"),
        ('{"train": [{"input": [["1"]], "output": [[1]]}], "test": []}', "colour"),
    ],
)
def test_a_file_that_is_no_task_is_named(source, tmp_path, text, words):
    file = source / "training" / "broken.json"
    file.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        build_arc([source], tmp_path / "out", num_aug=0)
    assert caught.value.file == str(file)


def test_a_folder_without_tasks_is_named(tmp_path):
    with pytest.raises(InputError, match="no ARC tasks"):
        build_arc([tmp_path], tmp_path / "out")


def test_without_an_evaluation_folder_there_is_no_test_split(source, tmp_path):
    with pytest.raises(InputError, match="test split"):
        build_arc([source / "training"], tmp_path / "out", num_aug=0)


def test_kaggles_files_are_read_with_the_solutions_beside_them(tmp_path):
    asked = {"train": TASK["train"], "test": [{"input": TASK["test"][0]["input"]}]}
    raw = tmp_path / "kaggle"
    raw.mkdir()
    for part in ("training", "evaluation"):
        (raw / f"arc-agi_{part}_challenges.json").write_text(json.dumps({f"{part[0]}1": asked}))
        (raw / f"arc-agi_{part}_solutions.json").write_text(
            json.dumps({f"{part[0]}1": [TASK["test"][0]["output"]]})
        )
    path = build_arc([raw], tmp_path / "out", num_aug=0)
    assert json.loads((path / "identifiers.json").read_text()) == ["<blank>", "e1", "t1"]
    assert PuzzleData(path, "train").examples == 5
    assert PuzzleData(path, "test").examples == 1
    file = raw / "arc-agi_evaluation_challenges.json"
    assert PuzzleData(build_arc([file], tmp_path / "one", num_aug=0), "test").examples == 1
    (raw / "arc-agi_evaluation_solutions.json").unlink()
    with pytest.raises(InputError, match=r"arc-agi_evaluation_challenges\.json: holds a grid"):
        build_arc([file], tmp_path / "none", num_aug=0)
