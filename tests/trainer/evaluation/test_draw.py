from xml.etree import ElementTree as ET

import pytest

from hrmdoc.trainer.evaluation.draw import ARC, MAZE, draw, side_by_side, svg

ANSWER = [2, 3, 4, 5, 4, 5, 2, 3, 3, 2, 5, 4, 5, 4, 3, 2]


def test_a_board_is_drawn_with_its_boxes_and_blanks():
    assert draw([1, *ANSWER[1:]]) == ". 2 | 3 4\n3 4 | 1 2\n----+----\n2 1 | 4 3\n4 3 | 2 1"


def test_boxes_of_a_6x6_board_lie_down():
    drawn = draw([2] * 36).splitlines()
    assert drawn[0] == "1 1 1 | 1 1 1"
    assert [number for number, line in enumerate(drawn) if "-" in line] == [2, 5]
    assert {len(line) for line in drawn} == {13}


def test_wrong_cells_are_marked():
    drawn = draw([2, 2, *ANSWER[2:]], against=ANSWER)
    assert drawn.splitlines()[0] == "1  1! | 3  4"
    assert drawn.count("!") == 1


def test_ignored_cells_are_not_wrong():
    assert "!" not in draw([5, *ANSWER[1:]], against=[-100, *ANSWER[1:]])


def test_a_maze_has_no_boxes():
    assert draw([1, 2, 3, 5], MAZE) == "#\nS o"


def test_an_unknown_token_is_a_question_mark():
    assert draw([99, *ANSWER[1:]]).startswith("? 2")


def test_what_is_no_square_is_refused():
    with pytest.raises(ValueError, match="no square"):
        draw([1, 2, 3])


def test_drawings_stand_side_by_side():
    assert side_by_side("ab\nc", "x\ny", gap="|") == "ab|x\nc |y"


def test_empty_rows_at_the_end_are_kept():
    assert side_by_side(draw([2, 0, 0, 0], ARC), draw([2, 2, 2, 2], ARC), gap="|") == "0|0 0\n |0 0"


def test_a_picture_marks_the_wrong_cells_of_the_prediction_only():
    question, prediction = [1, *ANSWER[1:]], [3, *ANSWER[1:]]
    root = ET.fromstring(svg([(question, prediction, ANSWER)]))
    red = [part for part in root.iter() if part.get("fill") == "#b00020"]
    assert [part.text for part in red] == ["2"]
    texts = [part.text for part in root.iter() if part.tag.endswith("text")]
    assert len(texts) == 15 + 16


def test_signs_of_a_maze_are_safe_in_a_picture():
    assert ET.fromstring(svg([([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 5])], MAZE)).tag.endswith("svg")
