"""How long something lasts and when it will be reached, by the clock."""

import math

import numpy as np
import pytest

from hrmdoc.measures.function import Curve
from hrmdoc.measures.functions.durations import NEVER, seconds_above, seconds_below, seconds_until, timed


def curve(values: list[float], every: float = 10.0, times: list[float] | None = None) -> Curve:
    clock = np.arange(len(values)) * every if times is None else np.array(times, dtype=float)
    return Curve("gpu.util", np.zeros(len(values), np.int64), np.array(values, dtype=float), "step", 1, clock)


def test_it_stays_low_until_it_is_back_at_the_other_threshold() -> None:
    values = [50.0, 5, 0, 15, 20, 8]
    assert seconds_below(curve(values), 10, 25) == 40
    assert seconds_below(curve(values), 10) == 0, "back at once, and low since this point"
    assert seconds_below(curve([*values, 25]), 10, 25) == 0
    assert seconds_above(curve([0.0, 60, 30, 60]), 40, 20) == 20


def test_points_that_say_nothing_and_clocks_that_go_back_change_nothing() -> None:
    assert seconds_below(curve([5.0, math.nan, 5]), 10, 25) == 20
    assert seconds_below(curve([5.0, 5, 5], times=[100, 40, 160]), 10, 25) == 60
    assert seconds_below(curve([5.0, 5], times=[math.nan, math.nan]), 10) is None


def test_a_level_is_reached_at_the_rate_of_the_last_minutes() -> None:
    falling = curve([100.0 - at for at in range(70)])
    assert seconds_until(falling, 0, 600) == pytest.approx(310)
    assert seconds_until(falling, 200, 600) == NEVER, "the other way"
    assert seconds_until(curve([100.0] * 70), 0, 600) == NEVER
    assert seconds_until(curve([100.0, 0] * 35), 0, 600) == NEVER, "not steadily"
    turned = curve([200.0 - at for at in range(70)] + [130.0 + at for at in range(70)])
    assert seconds_until(turned, 0, 600) == NEVER, "what is older does not count"
    assert seconds_until(curve([9.0, 8, 7, 6]), 0, 600) is None, "too short to tell"


def test_a_curve_without_times_lasts_nothing() -> None:
    assert timed(curve([1.0, 1, 1])) == 20
    assert timed(curve([1.0, 1], times=[math.nan, math.nan])) == 0
