"""Curves in one line."""

from __future__ import annotations

import numpy as np

from hrmdoc.reports.sparkline import column, sparkline


def test_a_falling_curve_falls() -> None:
    line = sparkline(np.linspace(2.0, 1.0, 100), 8)
    assert line == "█▇▆▅▄▃▂▁"


def test_a_stretch_with_a_nan_is_marked_as_broken() -> None:
    assert "×" in sparkline(np.array([1.0, 2.0, np.nan, 4.0]), 4)


def test_an_empty_series_gives_an_empty_line() -> None:
    assert sparkline(np.array([])) == ""


def test_a_constant_series_does_not_divide_by_zero() -> None:
    assert set(sparkline(np.ones(50), 10)) == {"▁"}


def test_the_largest_floats_do_not_overflow() -> None:
    with np.errstate(all="raise"):
        line = sparkline(np.array([-1e308, 1e308, -1e308, 1e308]), 4)
    assert line == "▁█▁█"


def test_a_step_finds_its_column_and_one_beyond_the_end_the_last() -> None:
    steps = np.arange(100)
    assert column(steps, 50, 10) == 5
    assert column(steps, 1000, 10) == 9


def test_a_curve_shorter_than_its_room_has_a_column_for_each_point() -> None:
    assert column(np.array([10, 20, 30]), 30, 40) == 2
