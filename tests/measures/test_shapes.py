from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.measures.function import Curve
from hrmdoc.measures.functions import levels, repeats, shapes
from hrmdoc.record.records import FloatArray


def curve(values: FloatArray) -> Curve:
    return Curve("train.loss", np.arange(len(values)), values, "step", 1, np.full(len(values), np.nan))


CYCLE = [1.2345, 2.3456, 3.4567, 4.5678]


@pytest.mark.parametrize(
    ("values", "times"),
    [
        (CYCLE + CYCLE, 4),
        ([*CYCLE, 9.8765, *CYCLE, 9.8765, *CYCLE[:2]], 7),
        ([9.8765, *CYCLE, *CYCLE, 1.2345], 5),
        ([*CYCLE, *CYCLE[:3], 4.5679], 0),
        ([1.2, 2.3, 3.4, 4.5] * 2, 0),
        ([1.2345] * 12, 0),
        ([1.2345, 2.3456] * 6, 0),
        (CYCLE, 0),
        ([], 0),
    ],
)
def test_values_are_replayed_where_several_come_again_to_the_last_digit(
    values: list[float], times: int
) -> None:
    assert repeats.replayed(curve(np.array(values, np.float64))) == (times if values else None)


def test_values_of_few_digits_are_replayed_where_many_come_again_behind_others() -> None:
    epoch = np.random.default_rng(5).permutation(30) * -12.0
    other = np.arange(7) * 3.5
    assert repeats.replayed(curve(np.concatenate([other, epoch, epoch]))) == 30
    assert repeats.replayed(curve(np.concatenate([other, epoch[:20], epoch[:20]]))) == 0
    assert repeats.replayed(curve(np.concatenate([other, epoch % 11, epoch % 11]))) == 0
    assert repeats.replayed(curve(np.concatenate([epoch, epoch]))) == 0  # as a log does that is written twice


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([5, 3, 1, 2, 2.5, 3], 0.5),
        ([5, 3, 1, 2, 1.5, 3], 0.0),
        ([5, 4, 3, 2, 1, 3], 0.0),
        ([1, 2, 3, 4, 5], 0.0),
        ([5, 4, 3, 2, 1], 0.0),
        ([9, 8, 7, 6, 5, 5.5, 6, 5.9, 6.5, 7], 0.5),
        ([3], 0.0),
    ],
)
def test_a_curve_that_turned_once_gives_back_a_share_of_its_gain(values: list[float], share: float) -> None:
    assert shapes.turned(np.array(values, np.float64)) == pytest.approx(share)


def test_seven_values_in_any_order_hardly_ever_turn_once() -> None:
    random = np.random.default_rng(3)
    assert sum(shapes.turned(random.normal(size=7)) > 0.25 for _ in range(2000)) < 40


def test_the_spread_of_nothing_but_zeros_is_zero() -> None:
    assert levels.spread(np.zeros(4)) == 0.0
    assert levels.spread(np.array([2.0, 3.0, 2.0])) == 0.5


def test_a_peak_has_two_neighbours_less_than_half_as_high() -> None:
    assert [
        levels.peaks(np.array(values))
        for values in ([1.0, 9.0, 1.0, 1.5, 1.0], [9.0, 1.0, 9.0], [1.0, 9.0], [])
    ] == [
        1,
        0,
        0,
        0,
    ]


def test_a_long_series_is_looked_through_at_once() -> None:
    values = np.random.default_rng(0).random(400_000)
    assert repeats.replayed(curve(values)) == 0
    assert repeats.replayed(curve(np.concatenate([values, values[-7:-2]]))) == 5
    assert repeats.replayed(curve(np.full(400_000, 1.23456))) == 0
