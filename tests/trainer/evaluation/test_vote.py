import json

import numpy as np
import pytest

from hrmdoc.errors import InputError
from hrmdoc.trainer.data.arc import augmentations, canvas
from hrmdoc.trainer.data.arc_files import SIDE, Task
from hrmdoc.trainer.data.maze import dihedral, undo_dihedral
from hrmdoc.trainer.evaluation.vote import crop, undo, vote

QUESTION, RIGHT, WRONG = (np.array(grid, np.uint8) for grid in ([[0, 1], [2, 3]], [[4, 5, 6]], [[9]]))
IDENTIFIERS = ["<blank>", "aaa", "aaa_t5_0213456789", "aaa_t1_0987654321", "bbb"]


def cells(grid):
    return canvas((grid, grid))[0]


def change(name, grid):
    """The grid as the augmentation of that name shows it."""
    if "_" not in name:
        return grid
    _, turn, colours = name.split("_")
    return dihedral(np.array([int(c) for c in colours], np.uint8)[grid], int(turn[1:]))


@pytest.fixture
def scored(tmp_path):
    """Writes predictions: (identifier, what is answered before the augmentation, logit of halting)."""

    def write(*rows, names=IDENTIFIERS):
        number = [row[0] for row in rows]
        name = [IDENTIFIERS[one] for one in number]
        np.savez(
            tmp_path / "p.npz",
            all__puzzle_identifiers=np.array(number, np.int32),
            all__inputs=np.stack([cells(change(one, QUESTION)) for one in name]),
            all__labels=np.stack([cells(change(one, RIGHT)) for one in name]),
            all__predictions=np.stack([cells(change(n, row[1])) for n, row in zip(name, rows, strict=True)]),
            all__q_halt_logits=np.array([row[2] for row in rows], np.float32),
        )
        (tmp_path / "identifiers.json").write_text(json.dumps(names))
        return vote(tmp_path / "p.npz", tmp_path / "identifiers.json")

    return write


def test_symmetries_are_numbered_as_the_reference_does_and_undone():
    grid = np.arange(6, dtype=np.uint8).reshape(2, 3)
    # dataset/common.py of the reference
    theirs = [
        grid, np.rot90(grid, 1), np.rot90(grid, 2), np.rot90(grid, 3), np.fliplr(grid), np.flipud(grid),
        grid.T, np.fliplr(np.rot90(grid, 1)),
    ]  # fmt: skip
    for turn, wanted in enumerate(theirs):
        assert np.array_equal(dihedral(grid, turn), wanted)
        assert np.array_equal(undo_dihedral(wanted, turn), grid)


def test_every_augmentation_is_undone():
    task = Task("x", [(QUESTION, RIGHT)], [])
    for puzzle in augmentations(task, 40, np.random.default_rng(0)):
        assert np.array_equal(undo(puzzle.name, puzzle.train[0][0]), QUESTION)


def test_a_grid_is_cropped_to_its_largest_whole_rectangle():
    full = np.full((SIDE, SIDE), 3, np.uint8)
    torn = cells(np.zeros((4, 5), np.uint8)).copy().reshape(SIDE, SIDE)
    torn[3, 1] = 0  # the last row breaks off: three rows of five are more than four of one
    nothing = np.zeros((SIDE, SIDE), np.uint8)
    found = crop(np.stack([full, torn, nothing]).reshape(3, -1))
    assert [grid.shape for grid in found] == [(30, 30), (3, 5), (1, 0)]
    assert (found[0] == 1).all()


def test_most_votes_win_and_the_second_try_counts(scored):
    found = scored((1, WRONG, 9.0), (2, WRONG, 9.0), (3, RIGHT, -9.0))
    assert (found["tasks"], found["questions"], found["votes_per_question"]) == (1, 1, 3)
    assert found["pass@1"]["estimate"] == 0
    assert found["pass@2"]["estimate"] == 1


def test_among_equals_the_surer_one_wins(scored):
    assert scored((1, WRONG, 1.0), (2, RIGHT, 2.0))["pass@1"]["estimate"] == 1
    assert scored((1, WRONG, 2.0), (2, RIGHT, 1.0))["pass@1"]["estimate"] == 0


def test_padding_has_no_vote_and_every_task_counts_once(scored):
    found = scored((0, WRONG, 9.0), (1, RIGHT, 0.0), (4, WRONG, 0.0))
    assert found["tasks"] == 2
    assert found["pass@1000"]["estimate"] == 0.5


def test_names_that_do_not_fit_are_refused(scored):
    with pytest.raises(InputError, match="no task without an augmentation"):
        scored((2, RIGHT, 0.0))
    with pytest.raises(InputError, match="names 2 puzzles"):
        scored((3, RIGHT, 0.0), names=IDENTIFIERS[:2])
    with pytest.raises(InputError, match="no list of names"):
        scored((1, RIGHT, 0.0), names={"a": 1})
