import numpy as np
import pytest

from hrmdoc.trainer.data.sudoku.generate import dig, dig_singles, full_board, generate, singles_solve
from hrmdoc.trainer.data.sudoku.rules import (
    box_shape,
    canonical,
    is_solution,
    peers,
    shuffle,
    to_tokens,
    units,
)
from hrmdoc.trainer.data.sudoku.solver import solve
from hrmdoc.trainer.data.sudoku_dataset import all_boards

UNIQUE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


def board(text):
    return np.array([0 if c == "." else int(c) for c in text], np.int8)


@pytest.mark.parametrize(("side", "box"), [(4, (2, 2)), (6, (2, 3)), (9, (3, 3)), (12, (3, 4)), (16, (4, 4))])
def test_every_cell_lies_in_three_units_and_has_the_right_peers(side, box):
    assert box_shape(side) == box
    assert (np.bincount(units(side).ravel()) == 3).all()
    assert {len(p) for p in peers(side)} == {3 * (side - 1) - (box[0] - 1) - (box[1] - 1)}


def test_boxes_of_side_6_have_2_rows_and_3_columns():
    assert units(6)[12].tolist() == [0, 1, 2, 6, 7, 8]
    assert units(6)[13].tolist() == [3, 4, 5, 9, 10, 11]


def test_the_288_boards_of_side_4_are_symmetries_of_two():
    assert len({canonical(solution) for solution in all_boards(4)}) == 2


def test_equivalents_of_a_board_are_recognised_and_a_board_of_another_class_is_not():
    rng = np.random.default_rng(0)
    boards = [full_board(6, rng) for _ in range(8)]
    for solution in boards[:2]:
        _, equivalents = shuffle(solution, solution, 8, rng)
        assert is_solution(equivalents).all()
        assert {canonical(other) for other in equivalents} == {canonical(solution)}
    assert len({canonical(solution) for solution in boards}) > 1


def test_classes_of_side_9_are_too_many():
    with pytest.raises(ValueError, match="too many"):
        canonical(full_board(9, np.random.default_rng(0)))


def test_a_full_board_with_one_swap_is_no_solution():
    good = full_board(9, np.random.default_rng(0))
    bad = good.copy()
    bad[[0, 1]] = bad[[1, 0]]
    assert is_solution(np.stack([good, bad, np.zeros(81, np.int8)])).tolist() == [True, False, False]


def test_the_solver_proves_a_unique_solution():
    found = solve(board(UNIQUE))
    assert (found.solutions, found.guesses) == (1, 0)
    assert found.answer is not None
    assert is_solution(found.answer)
    assert (found.answer[board(UNIQUE) > 0] == board(UNIQUE)[board(UNIQUE) > 0]).all()


def test_a_hard_puzzle_needs_guesses():
    found = solve(board(HARD))
    assert found.solutions == 1
    assert found.guesses > 0


def test_the_solver_sees_a_second_solution():
    answer = solve(board(UNIQUE)).answer
    assert answer is not None
    # Two digits that form a rectangle over two boxes of one band can be swapped.
    grid = answer.reshape(9, 9).copy()
    rectangle = next(
        (r, s, c, d)
        for r in range(9)
        for s in range(r + 1, r // 3 * 3 + 3)
        for c in range(9)
        for d in range(9)
        if c // 3 != d // 3 and grid[r, c] == grid[s, d] and grid[r, d] == grid[s, c]
    )
    r, s, c, d = rectangle
    grid[[r, r, s, s], [c, d, c, d]] = 0
    assert solve(grid.ravel()).solutions == 2
    assert solve(grid.ravel(), limit=1).solutions == 1


def test_the_solver_counts_all_288_boards_of_side_four():
    assert solve(np.zeros(16, np.int8), limit=1000).solutions == 288


def test_a_contradiction_has_no_solution():
    two_ones = np.zeros(81, np.int8)
    two_ones[[0, 8]] = 1
    assert solve(two_ones).solutions == 0
    assert solve(two_ones).answer is None


@pytest.mark.parametrize(("side", "clues"), [(4, 5), (9, 28)])
def test_generated_puzzles_are_unique_graded_and_seeded(side, clues):
    puzzles = generate(6, side, clues, seed=7)
    for puzzle in puzzles:
        found = solve(puzzle.question)
        assert found.solutions == 1
        assert found.guesses == puzzle.guesses
        assert (found.answer == puzzle.answer).all()
        assert (puzzle.question > 0).sum() == puzzle.clues >= clues
    assert len({p.question.tobytes() for p in puzzles}) == 6
    again, other = generate(6, side, clues, seed=7), generate(6, side, clues, seed=8)
    assert all((a.question == b.question).all() for a, b in zip(puzzles, again, strict=True))
    assert any((a.question != b.question).any() for a, b in zip(puzzles, other, strict=True))


def test_the_grade_bounds_are_kept():
    assert [p.guesses for p in generate(3, 9, 26, seed=1, max_guesses=0)] == [0] * 3
    assert [p.guesses >= 1 for p in generate(3, 9, 26, seed=1, min_guesses=1)] == [True] * 3


def test_digging_down_to_no_clue_stops_while_the_solution_is_unique():
    puzzle = dig(full_board(9, np.random.default_rng(3)), 0, np.random.default_rng(3))
    assert solve(puzzle.question).solutions == 1
    for cell in np.flatnonzero(puzzle.question):  # minimal: no clue can go
        fewer = puzzle.question.copy()
        fewer[cell] = 0
        assert solve(fewer).solutions == 2


def test_boards_dug_together_are_unique_without_guessing():
    rng = np.random.default_rng(0)
    answers = np.stack([full_board(9, rng) for _ in range(8)])
    questions = dig_singles(answers, 32, rng)
    for question, answer in zip(questions, answers, strict=True):
        found = solve(question)
        assert (found.solutions, found.guesses) == (1, 0)
        assert (found.answer == answer).all()
        assert (question > 0).sum() >= 32


def test_singles_agree_with_the_solver_on_which_puzzles_need_no_guess():
    puzzles = generate(12, 9, 25, seed=2)
    expected = [p.guesses == 0 for p in puzzles]
    assert singles_solve(np.stack([p.question for p in puzzles])).tolist() == expected
    assert True in expected
    assert False in expected


@pytest.mark.parametrize("side", [4, 9])
def test_equivalent_puzzles_keep_rules_clues_and_uniqueness(side):
    puzzle = generate(1, side, 30 if side == 9 else 6, seed=5)[0]
    questions, answers = shuffle(puzzle.question, puzzle.answer, 40, np.random.default_rng(0))
    assert is_solution(answers).all()
    assert ((questions == 0) | (questions == answers)).all()
    assert ((questions > 0).sum(1) == puzzle.clues).all()
    assert all(solve(question).solutions == 1 for question in questions[:10])
    assert len({q.tobytes() for q in questions}) > 30


def test_equivalents_use_digits_lines_and_the_transpose():
    answer = full_board(9, np.random.default_rng(0))
    marks = np.arange(81, dtype=np.int64)
    # Follow the cells through the same draws by marking one clue at a time.
    landed = np.zeros((81, 60), np.int64)
    for cell in marks:
        question = np.zeros(81, np.int8)
        question[cell] = answer[cell]
        landed[cell] = shuffle(question, answer, 60, np.random.default_rng(4))[0].argmax(1)
    grid = landed.reshape(9, 9, 60)
    assert (np.sort(landed, 0) == marks[:, None]).all()  # a permutation of the cells
    row_of, column_of = grid // 9, grid % 9
    straight = (row_of[:, :1] == row_of).all((0, 1))  # a row stays a row
    turned = (column_of[:, :1] == column_of).all((0, 1))  # a row becomes a column
    assert (straight ^ turned).all()
    assert 10 < turned.sum() < 50
    band = np.where(straight, row_of[:, 0], column_of[:, 0]) // 3
    assert (band.reshape(3, 3, 60) == band.reshape(3, 3, 60)[:, :1]).all()  # bands stay together


def test_tokens_are_one_above_the_digits():
    assert to_tokens(np.array([0, 1, 9], np.int8)).tolist() == [1, 2, 10]
