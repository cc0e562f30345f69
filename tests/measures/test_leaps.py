"""The largest rise of a curve: how large, how much of it stays, and what comes behind it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.measures.functions import leaps

BACK = np.array([8.0, 6.0, 5.0, 4.0, 9.0, 6.0, 5.0, 4.5, 4.0, 4.0, 4.0])


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([8, 6, 5, 4, 9, 6], 5 / 4),
        ([2, 6, 5, 4, 9, 6], 5 / 2),  # of the lowest before it
        ([8, 6, 5, 4, 3, 2], 0.0),
        ([8, 6, 5, 0, 9, 6], 0.0),  # of nothing there is no share
        ([1, 9, 5, 4, 5, 4], 1.0),  # a rise within the first values is none
    ],
)
def test_a_leap_is_a_share_of_the_lowest_value_before_it(values: list[float], share: float) -> None:
    assert leaps.leap(np.array(values, np.float64)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("values", "kept"),
    [([8, 6, 5, 4, 9, 9], 1.0), ([8, 6, 5, 4, 9, 4], 0.0), ([8, 6, 5, 4, 9, 14], 2.0), ([5, 4, 3, 2, 1], 0)],
)
def test_what_is_kept_of_a_leap_is_what_of_it_stands_at_the_end(values: list[float], kept: float) -> None:
    assert leaps.leap_kept(np.array(values, np.float64)) == pytest.approx(kept)


def test_a_leap_stands_alone_by_the_usual_distance_between_neighbours() -> None:
    assert leaps.leap_alone(np.array([1.0, 2.0, 1.0, 2.0, 9.0, 8.0])) == pytest.approx(7.0)
    assert leaps.leap_alone(np.array([1.0, 1.0, 1.0, 1.0, 9.0, 9.0])) == math.inf


def test_a_leap_is_made_up_for_once_a_quarter_of_it_is_left_but_for_single_points() -> None:
    assert leaps.back_after(BACK) == 0
    assert leaps.back_after(np.array([8.0, 6.0, 5.0, 4.0, 9.0, 9.0, 9.0, 9.0, 6.0, 5.0, 5.0])) == 3
    assert leaps.back_after(np.array([5.0] * 4 + [9.0] * 8)) == math.inf
    once = np.array([5.0] * 4 + [9.0] * 3 + [5.0] + [9.0] * 3)
    assert leaps.back_after(once) == math.inf
    assert leaps.back_after(BACK[:8]) is None
    assert leaps.back_after(BACK[:9]) is not None


def test_a_curve_that_begins_a_second_time_is_not_unlike_its_first_values() -> None:
    first = [8.0, 6.0, 5.0, 4.0]
    assert leaps.anew(np.array([*first, *first])) == 0.0
    assert leaps.anew(np.array([*first, 9.0, 6.0, 6.0])) == pytest.approx(0.25)
    assert leaps.anew(np.array([*first, 8.0, 6.0])) is None
    assert leaps.anew(np.array([4.0, 6.0, 5.0, 4.0, 8.0, 6.0, 5.0])) == math.inf
