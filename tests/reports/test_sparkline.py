"""Curves in one line."""

from __future__ import annotations

import numpy as np

from hrmdoc.reports.sparkline import marks, sparkline


def test_a_falling_curve_falls() -> None:
    line = sparkline(np.linspace(2.0, 1.0, 100), 8)
    assert line == "█▇▆▅▄▃▂▁"


def test_a_stretch_with_a_nan_is_marked_as_broken() -> None:
    assert "×" in sparkline(np.array([1.0, 2.0, np.nan, 4.0]), 4)


def test_an_empty_series_gives_an_empty_line() -> None:
    assert sparkline(np.array([])) == ""


def test_a_constant_series_does_not_divide_by_zero() -> None:
    assert set(sparkline(np.ones(50), 10)) == {"▁"}


def test_a_mark_stands_under_its_step() -> None:
    steps = np.arange(100)
    assert marks(steps, [50], 10).index("▲") == 5
    assert marks(steps, [1000], 10).index("▲") == 9
