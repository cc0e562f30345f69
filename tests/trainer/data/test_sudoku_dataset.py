import csv
import json

import numpy as np
import pytest

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer.data import PuzzleData, build_sudoku, builtin, dataset_hash
from hrmdoc.trainer.data.rows import csv_rows, repository_rows
from hrmdoc.trainer.data.sudoku.generate import generate
from hrmdoc.trainer.data.sudoku.rules import canonical, is_solution
from hrmdoc.trainer.data.sudoku_dataset import BUILTIN, Recipe
from hrmdoc.trainer.data.tables import read_table

TRAIN, TEST = generate(8, 9, 40, seed=0), generate(3, 9, 40, seed=1)


def read_csv(file):
    return read_table(file, csv_rows(file))


def read_repository(source, split, cache):
    return read_table(source, repository_rows(source, split, cache))


def text(board):
    return "".join("." if d == 0 else str(d) for d in board.tolist())


def write_csv(file, puzzles, ratings=None):
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "question", "answer", "rating"])
        for number, puzzle in enumerate(puzzles):
            writer.writerow(
                ["made", text(puzzle.question), text(puzzle.answer), ratings[number] if ratings else number]
            )
    return file


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    write_csv(folder / "train.csv", TRAIN)
    write_csv(folder / "test.csv", TEST)
    return folder


def test_a_table_is_read_as_it_was_written(tmp_path):
    table = read_csv(write_csv(tmp_path / "a.csv", TRAIN))
    assert (table.questions == np.stack([p.question for p in TRAIN])).all()
    assert (table.answers == np.stack([p.answer for p in TRAIN])).all()
    assert table.ratings.tolist() == list(range(8))


def test_a_table_of_small_boards_is_read(tmp_path):
    assert read_csv(write_csv(tmp_path / "a.csv", generate(3, 4, 6))).questions.shape == (3, 16)


def test_a_repository_gives_the_same_as_its_tables(repository, tmp_path):
    for split in ("train", "test"):
        table = read_repository(str(repository), split, cache=tmp_path / "cache")
        direct = read_csv(repository / f"{split}.csv")
        assert (table.questions == direct.questions).all()
        assert (table.answers == direct.answers).all()
        assert (table.ratings == direct.ratings).all()


def test_a_repository_without_the_split_is_an_input_error(repository, tmp_path):
    with pytest.raises(InputError, match="'validation' cannot be loaded"):
        read_repository(str(repository), "validation", cache=tmp_path / "cache")


def good_row():
    return [["made", text(TRAIN[0].question), text(TRAIN[0].answer), "1"]]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (1, "1" * 80, "81 cells"),
        (1, text(TRAIN[0].question)[:-1] + "x", "no digit"),
        (1, text(TRAIN[0].question)[:-1] + "é", "81 cells"),
        (2, text(TRAIN[0].answer)[::-1], "contradicts|breaks"),
        (2, "1" * 81, "breaks the rules"),
        (2, text(TRAIN[1].answer), "contradicts the question"),
        (2, "", "answer does not have"),
        (3, "hard", "no whole number"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path, column, value, words):
    rows = good_row() + good_row() + good_row()
    rows[1][column] = value
    file = tmp_path / "a.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["source", "question", "answer", "rating"], *rows])
    with pytest.raises(InputError, match=words) as caught:
        read_csv(file)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks the column"),
        (b"question,answer\n", "rating"),
        (b"source,question,answer,rating\n", "no puzzles"),
        (b"source,question,answer,rating\nonly,two\n", "2 fields"),
        (b"source,question,answer,rating\na,b,c,1\n", "none of 16, 36, 64, 81"),
        (b"\xff\xfe\x00binary", "no CSV text|lacks"),
        (b"source,question,answer,rating\n" + b"\x00" * 50, "field|CSV"),
        (b'source,question,answer,rating\n"' + b"x" * 200_000, "CSV"),
    ],
)
def test_what_is_no_table_is_an_input_error(tmp_path, content, words):
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_csv(file)
    assert caught.value.file == str(file)


def test_a_built_dataset_holds_the_puzzles_as_tokens(repository, tmp_path):
    data = build_sudoku(repository, tmp_path / "out")
    train, test = PuzzleData(data, "train"), PuzzleData(data, "test")
    assert (train.info.vocab_size, train.info.seq_len, train.info.total_groups) == (11, 81, 8)
    assert (train.sets[0].inputs[2] == TRAIN[2].question + 1).all()
    assert (train.sets[0].labels[2] == TRAIN[2].answer + 1).all()
    assert (test.sets[0].inputs == np.stack([p.question + 1 for p in TEST])).all()
    assert json.loads((data / "identifiers.json").read_text()) == ["<blank>"]


def test_augmentations_join_the_group_of_their_puzzle_and_leave_the_test_set_alone(repository, tmp_path):
    data = build_sudoku(repository, tmp_path / "out", num_aug=4, seed=1)
    part = PuzzleData(data, "train").sets[0]
    assert part.group_indices.tolist() == list(range(0, 41, 5))
    assert part.examples == 40
    assert (part.inputs[10] == TRAIN[2].question + 1).all()  # the original comes first
    clues = (part.inputs > 1).sum(1).reshape(8, 5)
    assert (clues == clues[:, :1]).all()
    assert is_solution(part.labels.astype(np.int8) - 1).all()
    assert PuzzleData(data, "test").sets[0].examples == 3


def test_subsample_and_difficulty_choose_puzzles(repository, tmp_path):
    hard = build_sudoku(repository, tmp_path / "hard", min_difficulty=2)
    assert (PuzzleData(hard, "train").examples, PuzzleData(hard, "test").examples) == (6, 1)
    few = PuzzleData(build_sudoku(repository, tmp_path / "few", subsample_size=3), "train").sets[0]
    assert few.examples == 3
    originals = {(p.question + 1).tobytes() for p in TRAIN}
    assert len({row.astype(np.int8).tobytes() for row in few.inputs} & originals) == 3


def test_too_high_a_difficulty_is_refused(repository, tmp_path):
    with pytest.raises(InputError, match="no test puzzle is left"):
        build_sudoku(repository, tmp_path / "out", min_difficulty=3)
    assert not (tmp_path / "out").exists()


def test_one_file_is_split_without_overlap(tmp_path):
    data = build_sudoku(write_csv(tmp_path / "a.csv", TRAIN), tmp_path / "out", test_fraction=0.25)
    train, test = (
        {row.tobytes() for row in PuzzleData(data, split).sets[0].inputs} for split in ("train", "test")
    )
    assert (len(train), len(test), len(train & test)) == (6, 2, 0)


def test_building_again_replaces_the_dataset_and_the_seed_decides_its_bytes(repository, tmp_path):
    hashes = [
        dataset_hash(build_sudoku(repository, tmp_path / "out", num_aug=2, seed=seed)) for seed in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        build_sudoku(tmp_path / "nothing.csv", tmp_path / "out")


def test_the_small_builtin_set_is_generated_once_with_unseen_test_boards(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = builtin("sudoku-4x4")
    assert path.is_relative_to(tmp_path)
    train, test = PuzzleData(path, "train"), PuzzleData(path, "test")
    assert (train.info.vocab_size, train.info.seq_len, train.examples, test.examples) == (6, 16, 1024, 256)
    boards = [{row.tobytes() for row in split.sets[0].labels} for split in (train, test)]
    assert not boards[0] & boards[1]
    before = (path / "train/all__inputs.npy").stat().st_mtime_ns
    assert builtin("sudoku-4x4") == path
    assert (path / "train/all__inputs.npy").stat().st_mtime_ns == before
    assert dataset_hash(builtin("sudoku-4x4", tmp_path / "again")) == dataset_hash(path)


def test_test_boards_of_side_6_are_no_symmetries_of_training_boards(monkeypatch, tmp_path):
    monkeypatch.setitem(
        BUILTIN, "sudoku-6x6", Recipe(side=6, clues=20, train=12, test=4, num_aug=2, guessing=False)
    )
    path = builtin("sudoku-6x6", tmp_path / "d")
    train, test = (PuzzleData(path, split).sets[0] for split in ("train", "test"))
    assert (train.examples, test.examples) == (36, 4)
    for part in (train, test):
        assert is_solution(part.labels.astype(np.int8) - 1).all()
    classes = [{canonical(row.astype(np.int8) - 1) for row in part.labels} for part in (train, test)]
    assert not classes[0] & classes[1]


def test_an_unknown_builtin_set_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'sudoku-easy'"):
        builtin("sudoku-eazy")
