"""How long nothing was heard of a run, and what the pauses on the way were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hrmdoc.examination.silence import ENOUGH_TIMES, HOUR, SAME_MOMENT, silences
from hrmdoc.record.records import Event, Fact, Line, Points, Tick
from hrmdoc.record.run import Run, Sighting
from hrmdoc.record.series import RoleGuess

T = 1_767_300_000.0
ENDED = Tick(closed=True)


def paused(pauses: list[float], *records: Any, seen: Sighting | None = None) -> Run:
    """A run with a point at `T`, and one after each pause (seconds)."""
    run = Run("log", role_of=RoleGuess)
    times = T + np.cumsum([0.0, *pauses])
    steps = np.arange(len(times))
    run.add(Points("train.loss", steps, np.ones(len(times)), times, "log", lines=steps + 1))
    run.extend(records)
    run.sighting = seen
    return run


def told(run: Run, **facts: Any) -> dict[str, Any]:
    return dict(silences(run, {name.replace("_", ".", 1): value for name, value in facts.items()}))


USUAL = [10.0] * (ENOUGH_TIMES - 1)


def test_the_two_longest_pauses_are_told_with_the_usual_one_and_the_step_before_the_longest() -> None:
    pauses = [*USUAL]
    pauses[4], pauses[11] = 50.0, 300.0
    gaps = told(paused(pauses))
    assert gaps["run.longest_gap"] == 300.0
    assert gaps["run.second_gap"] == 50.0
    assert gaps["run.usual_gap"] == 10.0
    assert gaps["run.gap_step"] == 11


def test_too_few_points_with_times_tell_no_pause() -> None:
    assert "run.longest_gap" not in told(paused(USUAL[1:]))
    unknown = paused([*USUAL, 10.0])
    next(iter(unknown.series.values())).times[3] = np.nan
    assert "run.longest_gap" not in told(unknown)


def test_an_hour_more_than_usual_is_the_change_to_summer_time_and_a_restart_is_no_pause() -> None:
    pauses = [*USUAL, 10.0]
    pauses[6] = HOUR + 10.0
    assert told(paused(pauses))["run.longest_gap"] == 10.0
    pauses[6] = HOUR + 25.0
    assert told(paused(pauses))["run.longest_gap"] == HOUR + 25.0
    restarted = paused(pauses)
    next(iter(restarted.series.values())).steps[7:] = 3
    assert "run.longest_gap" not in told(restarted)


@pytest.mark.parametrize(("late", "silent"), [(0.0, 500.0), (SAME_MOMENT, 500.0), (SAME_MOMENT + 1, None)])
def test_after_a_run_its_file_tells_the_age_of_its_last_sign_where_it_was_written_then(
    late: float, silent: float | None
) -> None:
    last = T + sum(USUAL)
    run = paused(USUAL, ENDED, seen=Sighting(at=last + late + 500.0, written=last + late))
    assert told(run).get("observed.silent_for") == silent


def test_a_file_that_was_written_after_it_was_looked_at_is_as_old_as_now() -> None:
    last = T + sum(USUAL)
    run = paused(USUAL, ENDED, seen=Sighting(at=last, written=last + 60.0))
    assert told(run)["observed.silent_for"] == 0.0


@pytest.mark.parametrize(
    "record",
    [
        Tick(quiet=3.0, closed=True),
        Tick(),
        Event("end", "log"),
        Event("exception", "log", line=100),
        Line("CUDA out of memory", "log", 100),
        Fact("run.process_alive", False),
        Fact("heartbeat.state", "finished"),
    ],
)
def test_a_run_that_is_watched_or_told_of_its_end_did_not_fall_silent(record: Any) -> None:
    last = T + sum(USUAL)
    seen = Sighting(at=last + 500.0, written=last)
    assert told(paused(USUAL, ENDED, seen=seen))["observed.silent_for"] == 500.0
    assert "observed.silent_for" not in told(paused(USUAL, ENDED, record, seen=seen))


def test_a_heartbeat_tells_the_age_instead_of_the_last_record() -> None:
    last = T + sum(USUAL)
    watched = told(paused(USUAL, Tick(heartbeat=7.0)))
    assert (watched["run.heartbeat_age"], watched["run.heartbeat_interval"]) == (7.0, 1.0)
    beat, seen = Fact("heartbeat.time", last - 5.0), Sighting(at=last + 90.0, written=last)
    stated = told(paused(USUAL, ENDED, beat, seen=seen))
    assert stated["run.heartbeat_age"] == 90.0
    assert "observed.silent_for" not in stated
    nobody = told(paused(USUAL, ENDED, beat))
    assert "run.heartbeat_age" not in nobody


def test_the_time_from_the_last_point_to_the_last_message_is_that_without_progress() -> None:
    last = T + sum(USUAL)
    line = Line("waiting", "log", 100, time=last + 40.0)
    assert told(paused(USUAL, ENDED, line))["observed.silent_before_end"] == 40.0
    assert "observed.silent_before_end" not in told(paused(USUAL, line, Tick()))
    empty = Run("log")
    empty.extend([Event("start", "log", time=T), Event("start", "log", time=T + 5), ENDED])
    empty.add(Line("waiting", "log", 9, time=T + 65.0))
    assert told(empty)["observed.silent_before_end"] == 60.0


MORE = {"run_epochs_begun": 2, "run_epochs": 3}


def test_a_run_that_had_more_epochs_to_come_and_said_nothing_of_an_end_is_told_with_its_last() -> None:
    seen = Sighting(at=T + 900.0, written=T + 300.0)
    found = told(paused([10.0], ENDED, seen=seen), **MORE)
    assert (found["run.ended_in_epoch"], found["run.untouched_for"]) == (2, 600.0)
    newer = told(paused([10.0], ENDED, seen=Sighting(at=T, written=T + 9.0)), **MORE)
    assert newer["run.untouched_for"] == 0.0


@pytest.mark.parametrize(
    ("facts", "records"),
    [
        ({"run_epochs_begun": 3, "run_epochs": 3}, [ENDED]),
        ({"run_epochs": 3}, [ENDED]),
        ({"run_epochs_begun": 2, "run_epochs": "auto"}, [ENDED]),
        ({**MORE, "eval_early_stopping": True}, [ENDED]),
        (MORE, [ENDED, Event("end", "log")]),
        (MORE, [ENDED, Line("CUDA out of memory", "log", 100)]),
        (MORE, [Tick()]),
        (MORE, []),
    ],
)
def test_who_came_to_the_last_epoch_or_said_why_not_did_not_end_in_an_epoch(
    facts: dict[str, Any], records: list[Any]
) -> None:
    run = paused([10.0], *records, seen=Sighting(at=T + 900.0, written=T + 300.0))
    assert "run.ended_in_epoch" not in told(run, **facts)
    unseen = paused([10.0], *records, seen=Sighting(at=T + 900.0, written=0.0))
    assert "run.ended_in_epoch" not in told(unseen, **MORE)


def test_the_usual_interval_is_that_below_which_nine_pauses_in_ten_are() -> None:
    assert told(paused([10.0] * 18 + [50.0, 60.0]))["run.usual_interval"] == pytest.approx(10.0, abs=5.0)
    assert told(Run("log"))["run.usual_interval"] == 0.0
