import numpy as np
import pytest

from hrmdoc.trainer.data import DataInfo
from hrmdoc.trainer.evaluation.breakdown import board_of, breakdown, picture, show, table
from hrmdoc.trainer.evaluation.draw import ARC, MAZE, SUDOKU


@pytest.fixture
def predictions(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, 6, (40, 16))
    inputs, predicted = labels.copy(), labels.copy()
    for row in range(40):
        inputs[row, : 4 if row < 20 else 10] = 1
    predicted[30:, 0] = 2 + (labels[30:, 0] - 1) % 4
    q_halt = np.where(np.arange(40) < 28, 3.0, -3.0)
    file = tmp_path / "p.npz"
    np.savez(
        file, all__inputs=inputs, all__labels=labels, all__predictions=predicted, all__q_halt_logits=q_halt
    )
    return file


def test_harder_puzzles_have_their_own_row(predictions):
    rows = breakdown(predictions)["all"]["by_difficulty"]
    assert sum(row["count"] for row in rows) == 40
    assert rows[0] == {"blanks": "4-4", "count": 20, "accuracy": 1.0, "exact_accuracy": 1.0}
    assert rows[-1]["blanks"] == "10-10"
    assert rows[-1]["exact_accuracy"] == 0.5


def test_halting_is_judged_by_what_was_solved(predictions):
    halting = breakdown(predictions)["all"]["halting"]
    assert halting["says_solved"] == pytest.approx(0.7)
    assert halting["solved_when_it_says_so"] == 1.0
    assert halting["solved_when_it_does_not"] == pytest.approx(2 / 12)


def test_the_picture_shows_boards_with_mistakes_first(predictions):
    assert picture(predictions).count("#b00020") == 6


def test_the_table_gives_every_band_and_an_interval(predictions):
    found = breakdown(predictions)
    lines = table(
        {"breakdown": found, "all": {"count": 40.0, "exact_accuracy": 0.75, "accuracy": 0.98}}
    ).splitlines()
    assert lines[0] == "all: 75.0% of 40 puzzles wholly right (95 % interval 59.8% to 85.8%), 98.0% of cells"
    assert [line.split()[0] for line in lines[2:-1]] == ["4-4", "10-10"]
    assert "says solved: 70.0%" in lines[-1]


def test_boards_are_shown_with_mistakes_first_and_marked(predictions):
    shown = show(predictions, SUDOKU, 11)
    assert shown.count("!") == 10
    assert shown.index("!") < 40
    assert show(predictions, SUDOKU, 0) == ""


def test_mazes_are_graded_by_the_way_and_arc_tasks_by_the_answer(tmp_path):
    file = tmp_path / "p.npz"
    labels = np.array([[1, 5, 5, 4], [1, 2, 5, 4]])
    np.savez(
        file, all__inputs=labels, all__labels=labels, all__predictions=labels, all__q_halt_logits=np.zeros(2)
    )
    assert [row["path"] for row in breakdown(file, MAZE)["all"]["by_difficulty"]] == ["1-1", "2-2"]
    assert [row["cells"] for row in breakdown(file, ARC)["all"]["by_difficulty"]] == ["3-3"]


@pytest.mark.parametrize(
    ("vocabulary", "length", "signs"),
    [
        (11, 81, SUDOKU),
        (6, 16, SUDOKU),
        (8, 36, SUDOKU),
        (6, 900, MAZE),
        (12, 900, ARC),
        (50_257, 256, None),
        (11, 80, None),
    ],
)
def test_the_kind_of_board_follows_from_its_size(vocabulary, length, signs):
    assert board_of(DataInfo(vocabulary, length)) == signs
