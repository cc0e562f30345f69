import numpy as np
import pytest

from hrmdoc.trainer.breakdown import breakdown, picture


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
    np.savez(file, all__inputs=inputs, all__labels=labels, all__predictions=predicted, all__q_halt_logits=q_halt)
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
