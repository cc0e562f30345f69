"""When a watched run is examined: at once for what is new, seldom for what is as before."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.live.novelty import Novelty
from hrmdoc.live.pace import QUIET_S, Pace, Urgency
from hrmdoc.record.records import Event, Points
from hrmdoc.record.run import Run

RNG = np.random.default_rng(1)


def add(run: Run, values: list[float], first: int, metric: str = "loss") -> None:
    steps = np.arange(first, first + len(values), dtype=np.int64)
    run.add(Points(metric, steps, np.array(values, float), steps * 1.0, "x.log"))


def marked(values: list[float]) -> tuple[Run, Novelty]:
    """A run with these points that was examined."""
    run = Run("x")
    add(run, values, 0)
    novelty = Novelty(run, lambda: (0, 0))
    novelty.mark()
    return run, novelty


NOISE = (2 + 0.1 * RNG.standard_normal(200)).tolist()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3.0, 1.0, 0.0, NOISE[-1]])
def test_a_point_unlike_those_before_it_is_new(value: float) -> None:
    run, novelty = marked(NOISE)
    add(run, [value], 200)
    assert novelty.found()
    novelty.mark()
    assert not novelty.found()


def test_a_rounded_value_that_comes_twice_is_nothing_new() -> None:
    rounded = [round(2 + 0.01 * (7 * at % 10), 2) for at in range(200)]  # no two neighbours are the same
    run, novelty = marked(rounded)
    add(run, rounded[-1:], 200)
    assert not novelty.found()


def test_points_like_those_before_are_nothing_new() -> None:
    run, novelty = marked(NOISE)
    for at in range(200, 1200):
        add(run, [2 + 0.1 * float(RNG.standard_normal())], at)
        assert not novelty.found()


@pytest.mark.parametrize("course", [lambda i: 1e-3 * (1 - i / 2000), lambda i: 1e-3 + 0 * i, float])
def test_a_schedule_and_a_clock_are_nothing_new(course: object) -> None:
    values = [course(i) for i in range(300)]  # type: ignore[operator]
    run, novelty = marked(values[:200])
    add(run, values[200:], 200)
    assert not novelty.found()


def test_what_is_not_finite_already_is_nothing_new_about_the_next_such_point() -> None:
    run, novelty = marked([*NOISE, float("nan")])
    add(run, [float("nan")], 201)
    assert not novelty.found()


def test_a_fall_of_the_steps_a_new_metric_and_an_event_are_new() -> None:
    run, novelty = marked(NOISE)
    add(run, [2.0], 10)
    assert novelty.found()
    novelty.mark()
    add(run, [2.0], 0, "other")
    assert novelty.found()
    novelty.mark()
    run.add(Event("checkpoint"))
    assert novelty.found()


def test_the_first_line_of_a_symptom_is_new_and_its_repetition_is_not() -> None:
    counts = [(0, 0)]
    novelty = Novelty(Run("x"), lambda: counts[-1])
    novelty.mark()
    counts.append((1, 1))
    assert novelty.found()
    novelty.mark()
    counts.append((1, 2))
    assert not novelty.found()
    counts.append((2, 3))
    assert novelty.found()


def test_ordinary_rows_wait_for_the_ordinary_examination() -> None:
    pace = Pace()
    assert pace.urgency(0.0, 1, 100, new=True)
    for at in range(10):
        pace.examined(float(at), 0.009, at, 100, changed=False)
    assert pace.urgency(9.0 + 0.9 * pace.ordinary, 99, 105, new=False) is Urgency.NONE
    assert pace.urgency(9.0 + 1.1 * pace.ordinary, 99, 105, new=False) is Urgency.ORDINARY


def test_what_is_new_is_examined_at_once_and_closely_watched_from_then_on() -> None:
    pace = Pace()
    for at in range(10):
        pace.examined(float(at), 0.009, at, 100, changed=False)
    assert pace.urgency(9.5, 99, 101, new=True) is Urgency.NEW
    pace.examined(9.5, 0.009, 99, 101, changed=False)
    assert pace.urgency(9.8, 100, 102, new=False) is Urgency.CLOSE


def test_what_is_new_again_and_again_and_comes_to_nothing_is_examined_ever_more_seldom() -> None:
    pace, now, examined = Pace(), 0.0, 0
    for version in range(2000):
        now += 0.1
        if pace.urgency(now, version, 1000, new=True):
            pace.examined(now, 0.009, version, 1000, changed=False)
            examined += 1
    assert examined < now / pace.ordinary + 20


def test_a_quiet_run_is_examined_for_its_silence() -> None:
    pace = Pace()
    pace.examined(0.0, 0.002, 7, 100, changed=False)
    assert pace.urgency(QUIET_S - 1, 7, 100, new=False) is Urgency.NONE
    assert pace.urgency(QUIET_S, 7, 100, new=False) is Urgency.ORDINARY


def test_something_new_about_a_run_waits_for_a_pause_that_doubles() -> None:
    pace = Pace()
    for at in range(10):
        pace.examined(float(at), 0.009, at, 100, changed=False)
    pace.examined(20.0, 0.009, 50, 100, changed=True)
    soon = 4 * 0.009
    assert pace.urgency(20.0 + 0.9 * max(0.05, soon), 51, 101, new=False) is Urgency.NONE
    assert pace.urgency(20.0 + 1.1 * max(0.05, soon), 51, 101, new=False) is Urgency.CLOSE
    pace.examined(21.0, 0.009, 51, 101, changed=False)
    assert pace.urgency(21.09, 52, 101, new=False) is Urgency.NONE
    assert pace.urgency(21.11, 52, 101, new=False) is Urgency.CLOSE


def test_a_run_that_grew_by_a_fifth_is_examined_sooner_than_ordinarily() -> None:
    pace = Pace()
    for at in range(20):
        pace.examined(float(at), 0.05, at, 100, changed=False)
    assert pace.ordinary == pytest.approx(0.05 / 0.003)
    assert pace.urgency(19.0 + 2.1, 99, 119, new=False) is Urgency.NONE
    assert pace.urgency(19.0 + 2.1, 99, 121, new=False) is Urgency.ORDINARY


def test_an_ordinary_examination_comes_every_two_to_thirty_seconds_by_its_cost() -> None:
    cheap, dear = Pace(), Pace()
    cheap.examined(0.0, 0.001, 0, 1, changed=False)
    dear.examined(0.0, 1.0, 0, 1, changed=False)
    assert (cheap.ordinary, dear.ordinary) == (2.0, 30.0)
    dear.examined(1.0, 0.0, 1, 1, changed=False)
    dear.examined(2.0, 0.0, 2, 1, changed=False)
    assert dear._cost == pytest.approx(0.25)


def test_twice_as_many_lines_as_there_were_are_new() -> None:
    counts = [(1, 4)]
    novelty = Novelty(Run("x"), lambda: counts[-1])
    novelty.mark()
    counts.append((1, 8))
    assert not novelty.found()
    counts.append((1, 9))
    assert novelty.found()


def test_a_drift_is_followed_and_its_end_is_new() -> None:
    falls = (4.0 - 0.01 * np.arange(100)).tolist()
    run, novelty = marked(falls)
    add(run, (3.0 - 0.01 * np.arange(60)).tolist(), 100)
    assert not novelty.found()
    add(run, [4.0], 160)
    assert novelty.found()


def test_a_zero_is_new_unless_there_were_zeros() -> None:
    run, novelty = marked([-1.0, 1.0] * 40)
    add(run, [0.0], 80)
    assert novelty.found()
    run, novelty = marked([-1.0, 0.0, 1.0] * 40)
    add(run, [0.0], 120)
    assert not novelty.found()
