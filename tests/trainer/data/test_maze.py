import csv

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.data import PuzzleData, build_maze
from hrmdoc.trainer.data.maze import dihedral

QUESTION = "#S# " + "# ##" + "#  #" + "##G#"
ANSWER = "#S# " + "#o##" + "#oo#" + "##G#"


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "mazes"
    folder.mkdir()
    for split, count in (("train", 3), ("test", 1)):
        with (folder / f"{split}.csv").open("w", newline="") as stream:
            rows = [["made", QUESTION, ANSWER, "4"]] * count
            csv.writer(stream).writerows([["source", "question", "answer", "rating"], *rows])
    return folder


def test_a_maze_becomes_tokens_in_the_references_order(source, tmp_path):
    train = PuzzleData(build_maze(source, tmp_path / "out"), "train")
    assert (train.info.vocab_size, train.info.seq_len, train.info.total_groups) == (6, 16, 3)
    assert train.sets[0].inputs[0].tolist() == [1, 3, 1, 2, 1, 2, 1, 1, 1, 2, 2, 1, 1, 1, 4, 1]
    assert train.sets[0].labels[0].tolist() == [1, 3, 1, 2, 1, 5, 1, 1, 1, 5, 5, 1, 1, 1, 4, 1]


def test_augmentation_adds_the_other_seven_symmetries_to_the_group(source, tmp_path):
    data = build_maze(source, tmp_path / "out", aug=True, subsample_size=2)
    part = PuzzleData(data, "train").sets[0]
    assert part.group_indices.tolist() == [0, 8, 16]
    assert len({row.tobytes() for row in part.inputs[:8]}) == 8
    grids = part.labels.reshape(-1, 4, 4)
    for turn in range(8):
        assert (grids[turn] == dihedral(grids[0], turn)).all()
    assert PuzzleData(data, "test").examples == 1


def test_the_eight_symmetries_of_a_square_differ_and_keep_its_cells():
    square = np.arange(9, dtype=np.uint8).reshape(3, 3)
    images = [dihedral(square, turn) for turn in range(8)]
    assert len({image.tobytes() for image in images}) == 8
    assert all(sorted(image.ravel()) == list(range(9)) for image in images)


@pytest.mark.parametrize(
    ("question", "words"),
    [("#" * 15, "no square"), ("?" * 16, "none of"), ("", "no square"), ("#" * 9, "answer does not have 9")],
)
def test_a_row_that_is_no_maze_is_named(source, tmp_path, question, words):
    with (source / "test.csv").open("a", newline="") as stream:
        csv.writer(stream).writerow(["made", question, ANSWER, "4"])
    text = (source / "test.csv").read_text().splitlines()
    (source / "test.csv").write_text("\n".join([text[0], text[2]]) + "\n")
    with pytest.raises(InputError, match=words) as caught:
        build_maze(source, tmp_path / "out")
    assert (caught.value.file, caught.value.line) == (str(source / "test.csv"), 2)
    assert not (tmp_path / "out").exists()
