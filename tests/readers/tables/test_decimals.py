"""hrmdoc.readers.tables.decimals: which sign parts the decimals of a file's numbers."""

from __future__ import annotations

import pytest

from hrmdoc.readers.tables.decimals import Decimals, comma_in, with_point


@pytest.mark.parametrize(
    "cell",
    ["1,234", "12,345,678", "1.234", "7", "", "loss", "1,2,3", "0", "v1,5", "nan", ",5", "9" * 99 + ",5"],
)
def test_what_may_be_either_tells_nothing(cell: str) -> None:
    assert comma_in(cell) is None


@pytest.mark.parametrize(
    "cell", ["0,4321", "0,432", "-2,5", "1,23456", "1.234,5", " 3,1 ", "1,5e-05", "97,5 %", "12345,678"]
)
def test_a_comma_before_decimals_is_told_by_numbers_that_can_be_no_other(cell: str) -> None:
    assert comma_in(cell) is True


@pytest.mark.parametrize("cell", ["0.4321", "0.432", ".5", "1,234.5", "2.5e-05", "12.5%"])
def test_a_point_before_decimals_is_told_likewise(cell: str) -> None:
    assert comma_in(cell) is False


def test_where_points_part_no_thousands_one_says_that_decimals_follow() -> None:
    assert comma_in("1.234", groups=False) is False


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("0,5", "0.5"),
        ("-1.234.567,25", "-1234567.25"),
        ("1.000", "1000"),
        ("1,5e-05", "1.5e-05"),
        ("97,5 %", "97.5 %"),
        ("12", "12"),
        ("0.001", "0.001"),
        ("1,2,3", "1,2,3"),
        ("2026-01-02 03:04:05,678", "2026-01-02 03:04:05,678"),
        ("", ""),
    ],
)
def test_numbers_are_written_anew_and_all_else_is_left(cell: str, plain: str) -> None:
    assert with_point(cell) == plain


def test_the_first_number_that_tells_decides_for_the_file() -> None:
    decimals = Decimals()
    decimals.see(["1,234", "x"], groups=True)
    assert decimals.comma is None
    decimals.see(["2", "0,5", "0.5"], groups=True)
    decimals.see(["0.25"], groups=True)
    assert decimals.comma is True
