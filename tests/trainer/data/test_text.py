import json

import numpy as np
import pytest

from hrmdoc.errors import InputError, UsageError
from hrmdoc.trainer.commands.dataset import command
from hrmdoc.trainer.data import PuzzleData
from hrmdoc.trainer.data.bpe import END, Encoding, _alphabet, _words
from hrmdoc.trainer.data.problems import load_problems, prompt_of, read_problems
from hrmdoc.trainer.data.text import build_text, unigram_loss

PIECES = [*_alphabet(), "re", "ret", "urn", "ur", "Ġx", "in"]
MERGES = [("r", "e"), ("re", "t"), ("u", "r"), ("ur", "n"), ("Ġ", "x"), ("i", "n")]


@pytest.fixture
def words():
    return Encoding({piece: index for index, piece in enumerate(PIECES)}, MERGES)


def problems(folder, count=5):
    file = folder / "p.jsonl"
    rows = [
        {
            "text": f"Add {n}.",
            "code": f"def f(x):\r\n    return x + {n}",
            "test_list": [f"assert f(1) == {n + 1}"],
        }
        for n in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_merges_are_applied_in_their_order_and_undone_by_decoding(words):
    pieces = [PIECES[token] for token in words.encode("return x")]
    assert pieces == ["ret", "urn", "Ġx"]
    for text in ("return x", "naïve ‘日本’\n\t  x = 1  \n", ""):
        assert words.decode(words.encode(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it's x_1, 10²!", ["it", "'s", " x", "_", "1", ",", " 10²", "!"]),
        ("a  b\n\n c ", ["a", " ", " b", "\n\n", " c", " "]),
        ("日本½ é", ["日本", "½", " é"]),
    ],
)
def test_text_is_split_at_changes_of_letters_numbers_and_signs(text, expected):
    assert _words().findall(text) == expected


def test_the_end_mark_is_not_part_of_the_text(words):
    assert words.decode([*words.encode("in"), END]) == "in"


def test_only_the_code_and_its_end_are_to_be_predicted(tmp_path, words):
    path = build_text(problems(tmp_path), tmp_path / "d", seq_len=120, test_every=5, encoding=words)
    train, test = PuzzleData(path, "train"), PuzzleData(path, "test")
    assert (train.examples, test.examples, train.info.vocab_size) == (4, 1, 50_257)
    rows = train.batch(train.sets[0], np.arange(4), np.arange(4))
    inputs, labels = rows["inputs"][0], rows["labels"][0]
    wanted = labels[labels != -100]
    assert words.decode(wanted.tolist()) == "def f(x):\n    return x + 0"
    assert wanted[-1] == END
    places = np.flatnonzero(labels != -100)
    assert (inputs[places[1:]] == labels[places[:-1]]).all()
    assert words.decode(inputs[: places[0] + 1].tolist()) == prompt_of("Add 0.", ["assert f(1) == 1"])


def test_the_problems_lie_beside_their_rows_and_what_does_not_fit_is_left_out(tmp_path, words):
    long = {"text": "x" * 200, "code": "y", "test_list": []}
    file = problems(tmp_path)
    file.write_text(json.dumps(long) + "\n" + file.read_text())
    path = build_text(file, tmp_path / "d", seq_len=120, test_every=5, encoding=words)
    kept = [load_problems(path / split) for split in ("train", "test")]
    assert [[problem.task_id for problem in part] for part in kept] == [[2, 3, 4, 5], [6]]
    assert kept[1][0].tests == ("assert f(1) == 5",)
    assert kept[1][0].code == "def f(x):\n    return x + 4"


def test_mbpps_own_split_follows_the_task_ids(tmp_path, words):
    file = tmp_path / "p.jsonl"
    rows = [
        {"text": "a", "code": "b", "task_id": task, "test_list": []}
        for task in (10, 11, 510, 511, 600, 601, 974)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = build_text(file, tmp_path / "d", seq_len=40, mbpp_split=True, encoding=words)
    assert [problem.task_id for problem in load_problems(path / "train")] == [601, 974]
    assert [problem.task_id for problem in load_problems(path / "test")] == [11, 510]


def test_a_split_without_problems_is_refused(tmp_path, words):
    file = problems(tmp_path)
    with pytest.raises(InputError, match="no training problem is left; 5 of 5"):
        build_text(file, tmp_path / "d", seq_len=120, mbpp_split=True, encoding=words)
    with pytest.raises(InputError, match="0 of 5 prompts fit into 10 tokens"):
        build_text(file, tmp_path / "d", seq_len=10, encoding=words)
    assert not (tmp_path / "d").exists()


def test_the_unigram_loss_is_the_cross_entropy_of_counting():
    counted = np.array([[1, 1, 1, 2], [0, 0, 0, 0]])
    scored = np.array([[1, 0, 0, 0], [2, 2, 0, 0]])
    # Four labels and one for each of three tokens: 1 has 4 of 7, 2 has 2 of 7, and the rows weigh the same.
    expected = (-np.log(4 / 7) - np.log(2 / 7)) / 2
    assert unigram_loss(counted, scored, 3, 0) == pytest.approx(expected)
    assert unigram_loss(np.array([[0, 1, 2]]), np.array([[0, 1, 2]]), 3, None) == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("content", "line"), [("{}\n", 1), ('{"text": "a", "code": "b"}\nnonsense\n', 2), ('"a"\n', 1)]
)
def test_a_line_that_is_no_problem_is_named(content, line, tmp_path):
    (tmp_path / "p.jsonl").write_text(content)
    with pytest.raises(InputError) as caught:
        read_problems(tmp_path / "p.jsonl")
    assert caught.value.line == line


def test_a_dataset_is_built_from_the_command_line(tmp_path, capsys):
    assert command(["builtin", "sudoku-4x4", str(tmp_path / "d")]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'd'}\n"
    assert "train: 1,024 examples in 1,024 groups, 16 tokens, vocabulary 6" in printed.err


@pytest.mark.parametrize(
    "words",
    [
        ["sudoko", "a", "b"],
        ["sudoku", "a"],
        ["sudoku", "a", "b", "num-augs=3"],
        ["maze", "a", "b", "seed=x"],
        ["maze", "a", "b", "aug=yes"],
        ["text", "a", "b", "test-every=1"],
        ["text", "a", "b", "mbpp-split=true", "test-every=5"],
    ],
)
def test_a_mistake_in_the_command_is_reported(words):
    with pytest.raises(UsageError):
        command(words)
