import json

import numpy as np
import pytest

from hrmdoc.errors import InputError, UsageError
from hrmdoc.trainer.data import PuzzleData
from hrmdoc.trainer.data.bpe import END, Encoding, _alphabet, _words
from hrmdoc.trainer.data.build import command
from hrmdoc.trainer.data.text import build_text, prompt_of, read_problems

PIECES = [*_alphabet(), "re", "ret", "urn", "ur", "Ġx", "in"]
MERGES = [("r", "e"), ("re", "t"), ("u", "r"), ("ur", "n"), ("Ġ", "x"), ("i", "n")]


@pytest.fixture
def words():
    return Encoding({piece: index for index, piece in enumerate(PIECES)}, MERGES)


def problems(folder, count=5):
    file = folder / "p.jsonl"
    rows = [
        {"text": f"Add {n}.", "code": f"def f(x):\r\n    return x + {n}", "test_list": [f"assert f(1) == {n + 1}"]}
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


@pytest.mark.parametrize(("content", "line"), [("{}\n", 1), ('{"text": "a", "code": "b"}\nnonsense\n', 2), ('["a"]\n', 1)])
def test_a_line_that_is_no_problem_is_named(content, line, tmp_path):
    (tmp_path / "p.jsonl").write_text(content)
    with pytest.raises(InputError) as caught:
        read_problems(tmp_path / "p.jsonl")
    assert caught.value.line == line


def test_a_dataset_is_built_from_the_command_line(tmp_path, capsys):
    assert command(["builtin", "sudoku-4x4", str(tmp_path / "d")]) == 0
    told = capsys.readouterr()
    assert told.out == f"{tmp_path / 'd'}\n"
    assert "train: 1,024 examples in 1,024 groups, 16 tokens, vocabulary 6" in told.err


@pytest.mark.parametrize(
    "words", [["sudoko", "a", "b"], ["sudoku", "a"], ["sudoku", "a", "b", "num-augs=3"], ["maze", "a", "b", "seed=x"]]
)
def test_a_mistake_in_the_command_is_told(words):
    with pytest.raises(UsageError):
        command(words)
