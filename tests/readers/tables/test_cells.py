"""How cells, rows and gaps of tables are read, case by case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc.readers.tables.cells import is_missing, number, unix_time
from hrmdoc.readers.tables.counter import Counter
from hrmdoc.readers.tables.gaps import Gaps
from hrmdoc.readers.tables.grid import column, plain_grid
from hrmdoc.readers.tables.header import cells_of, delimiter_of, is_header, is_row
from hrmdoc.readers.tables.vanished import Vanished

NAN = math.nan


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (3, 3.0), (True, 1.0), (NAN, NAN), (10**400, math.inf), ([2.5], 2.5), ([1, 2], None), (None, None),
        ("1e-3", 1e-3), (" 2 ", 2.0), ("1_000", None), ("1,234.5", 1234.5), ("1,23", None), ("97 %", 97.0),
        ("3.5 GiB/s", 3.5), ("12 seconds", None), (".5s", 0.5), ("-nan", NAN), ("+nan.0", NAN),
        ("-Inf", -math.inf),
        ("Infinity", math.inf), ("-inf.0", -math.inf), ("n/a", None), ("--", None), ("8270/11043", 8270.0),
        ("tensor(0.5)", 0.5), ("tensor(nan, device='cuda:0')", NAN), ("np.float32(2.5)", 2.5),
        ("f(2.5)", None),
        ("[1 2 3]", 2.0), ("[1, 4]", 2.5), ("[]", None), ("[a]", None), ("[1 2", None),
        ("9" * 64, float("9" * 64)),
        ("9" * 65, None), ("[" + "1 " * 999 + "]", 1.0), ("[" + "1 " * 1000 + "]", None), ("x", None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_cell_is_a_number_however_programs_write_one(cell: Any, value: float | None) -> None:
    np.testing.assert_equal(number(cell), value)


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        (1_767_322_000, 1_767_322_000.0),
        ("1767322000.5", 1_767_322_000.5),
        (1_767_322_000_000, 1_767_322_000.0),
        (1_767_322_000_000_000_000, 1_767_322_000.0),
        (978_307_200, NAN),
        (978_307_201, 978_307_201.0),
        (12.5, NAN),
        ("12.5", NAN),
        ("2026-01-02T03:04:05+00:00", 1_767_323_045.0),
        ("2026/01/02 03:04:05.250+00:00", 1_767_323_045.25),
        ("2026-01-02 03:04:05,250+00:00", 1_767_323_045.25),
        ("soon", NAN),
        (math.inf, NAN),
        (None, NAN),
        (1e11, 1e11),
        (1.1e12, 1.1e9),
    ],
)
def test_a_time_is_read_in_whatever_unit_it_was_written(cell: Any, seconds: float) -> None:
    np.testing.assert_allclose(unix_time(cell), seconds)


@pytest.mark.parametrize(
    ("cell", "missing"), [(None, True), (" NA ", True), ("-", True), ("0", False), (0, False), ("nan", False)]
)
def test_a_cell_says_in_words_that_nothing_was_measured(cell: Any, missing: bool) -> None:
    assert is_missing(cell) is missing


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("a,b,c", ","), ("a\tb", "\t"), ("a;b;c", ";"), ("a|b", "|"), ("a b", ","), ("1 2 3", " "),
        ("1,2 3", " "),
        ("1,5;2,5", ";"), ("loss, x;y", ","), ("step;loss, mean", ","), ("1", ","), ("a b;c d", ";"),
    ],
)  # fmt: skip
def test_what_parts_a_line_is_told_by_its_cells(line: str, delimiter: str) -> None:
    assert delimiter_of(line) == delimiter


def test_lines_are_headers_where_more_than_half_of_their_cells_are_words() -> None:
    assert cells_of('a,"b, c"\r\n', ",") == ["a", "b, c"]
    assert cells_of('a,"b\x00', ",") in ([], ["a", "b\x00"])
    assert is_header(["loss", "acc", "1"])
    assert not is_header(["loss", "1"])
    assert not is_header(["", " "])
    assert is_header(["", "loss"])
    assert not is_header(["nan", "inf"])
    assert is_row(["1", "2,5", "nan"])
    assert not is_row(["1", "x"])
    assert not is_row([])


@pytest.mark.parametrize(
    ("block", "grid"),
    [
        (b"1,2\n3,4\n", [[1, 2], [3, 4]]),
        (b"1,-2e-3\r\n3.5,4E2\r\n", [[1, -0.002], [3.5, 400]]),
        (b",2\n3,\n", [[NAN, 2], [3, NAN]]),
        (b"1,,,2\n,,3,\n", [[1, NAN, NAN, 2], [NAN, NAN, 3, NAN]]),
        (b",,\n", [[NAN, NAN, NAN]]),
        (b"5\n6\n", [[5], [6]]),
    ],
)
def test_lines_of_plain_numbers_and_empty_cells_are_read_at_once(
    block: bytes, grid: list[list[float]]
) -> None:
    np.testing.assert_equal(plain_grid(block, len(grid[0])), grid)


@pytest.mark.parametrize(
    ("block", "width"),
    [
        (b"1,2\n3\n", 2), (b"1,2\n3,4,5\n", 2), (b"1,2,3\n4\n", 2), (b"1\n2,3,4\n", 2), (b"1,2\n\n3,4\n", 2),
        (b"1\n\n2\n", 1), (b"1,2\r3,4\n", 2), (b'1,"2"\n', 2), (b"1, 2\n", 2), (b"1,nan\n", 2),
        (b"1,[2]\n", 2), (b"1,[2,3]\n", 3), (b"01,2\n", 2), (b"1,2", 2), (b"", 2), (b"# 1,2\n", 2),
        (b"1,\t\n", 2), (b"1,2\n" * 2000 + b"1,nan\n", 2),
    ],
)  # fmt: skip
def test_lines_with_anything_else_are_left_to_the_slower_way(block: bytes, width: int) -> None:
    assert plain_grid(block, width) is None


def test_cells_that_are_no_numbers_are_missing() -> None:
    np.testing.assert_equal(column(("1", "", "2e3")), [1, NAN, 2000])
    np.testing.assert_equal(column(("1", "2 %", "1_0", "x")), [1, 2, NAN, NAN])


def test_a_null_is_no_number_where_a_number_stood_in_each_of_three_rows_before() -> None:
    def told(*cells: Any) -> list[bool]:
        finite = np.array([isinstance(cell, int) for cell in cells])
        return Gaps().filled(cells, finite).tolist()

    assert told(1, 1, 1, None, None, 1) == [True, True, True, True, True, True]
    assert told(1, 1, None, 1) == [True, True, False, True]
    assert told(1, 1, 1, "x", None) == [True, True, True, False, False]
    assert told(1, NAN, "nan", None) == [True, True, True, True]
    assert told(None, 1, 1, 1, None) == [False, True, True, True, False]
    gaps = Gaps()
    gaps.all_filled(3)
    assert gaps.filled([None, None], np.array([False, False])).tolist() == [True, True]
    few = Gaps()
    few.all_filled(2)
    assert few.filled([None], np.array([False])).tolist() == [False]


@pytest.mark.parametrize(
    ("step", "epoch", "restarting", "steps", "axis"),
    [
        ([1, 2, 3], [NAN] * 3, True, [1, 2, 3], "step"),
        ([1, 2, 1, 2], [0, 0, 1, 1], True, [1, 2, 3, 4], "step"),
        ([0, 1, 0, 1], [0, 0, 1, 1], True, [0, 1, 2, 3], "step"),
        ([1, 2, 1, 2], [0, 0, 0, 0], True, [1, 2, 1, 2], "step"),
        ([1, 2, 1, 2], [0, 0, 1, 1], False, [1, 2, 1, 2], "step"),
        ([1, NAN, 3], [NAN] * 3, False, [1, 1, 3], "step"),
        ([NAN] * 3, [0, NAN, 1], False, [0, 0, 1], "epoch"),
        ([NAN] * 3, [0.5, 1.0, 1.5], False, [0, 1, 2], "index"),
        ([NAN] * 3, [NAN] * 3, False, [0, 1, 2], "index"),
        ([1e300, 2, 3], [NAN] * 3, False, [2**62, 2, 3], "step"),
    ],
)
def test_rows_are_counted_by_steps_else_by_whole_epochs_else_by_themselves(
    step: list[float], epoch: list[float], restarting: bool, steps: list[int], axis: str
) -> None:
    for cut in range(len(step)):
        counter, found, axes = Counter(), [], []
        for part in (slice(0, cut), slice(cut, None)):
            rows = np.array(step[part]), np.array(epoch[part]), np.full(len(step[part]), restarting)
            if len(rows[0]):
                one, kinds = counter.steps(*rows)
                found += one.tolist()
                axes += kinds.tolist()
        assert found == steps
        assert {("step", "epoch", "index")[kind] for kind in axes} == {axis}


LOSS, BOTH = ["step", "loss"], ["step", "loss", "acc"]


@pytest.mark.parametrize(
    ("names", "rows", "gone"),
    [
        (BOTH, "111 111 111 101 101", ["loss"]),
        (BOTH, "111 111 111 101", []),  # one row without it is none
        (BOTH, "111 111 101 101", []),  # nor were two with it enough
        (BOTH, "111 111 111 101 111", []),  # it came back
        (BOTH, "111 111 111 100 100", []),  # nothing goes on
        (BOTH, "101 101", ["loss"]),  # the loss itself, from the first row on
        (["step", "kl_loss", "acc"], "101 101", []),
        (LOSS, "11 11 11 10 10", ["loss"]),
        (["step", "loss", "val_loss"], "111 111 111 100 100", ["loss", "val_loss"]),
        (["step", "loss", "val_loss"], "111 111 111 101 100 100", []),
        (["step", "loss", "val_loss"], "111 111 111 101 101", []),
    ],
)
def test_a_loss_has_vanished_where_its_cells_stay_empty_while_others_go_on(
    names: list[str], rows: str, gone: list[str]
) -> None:
    filled = np.array([[cell == "1" for cell in row] for row in rows.split()])
    for cut in range(len(filled)):
        watch = Vanished(names, ["step", None])
        watch.see(filled[:cut])
        watch.see(filled[cut:])
        assert [names[at] for at in watch.columns()] == gone


def test_the_row_in_which_a_loss_is_missing_first_is_told() -> None:
    watch = Vanished(BOTH, ["step", None])
    assert watch.see(np.array([[True, True, True], [True, False, True], [True, False, False]])) == [(1, 1)]
    assert watch.see(np.array([[True, False, True]])) == []
