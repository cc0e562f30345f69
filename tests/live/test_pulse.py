"""How long a run has been silent, by the growth of its files and a clock that nobody sets."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hrmdoc.live.pulse import Pulse
from hrmdoc.record.records import Event, Fact, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess

WALL = 1_767_300_000.0


class Watched:
    """A run of one file whose last write is so many seconds ago, and a pulse with clocks of its own."""

    def __init__(self, folder: Path, age: float = 0.0, beaten: Callable[[], float] = lambda: math.nan):
        self.log = folder / "train.log"
        self.log.touch()
        self.now, self.points = 1000.0, 0
        self.run = Run(str(self.log), role_of=RoleGuess)
        self.write(age)
        self.pulse = Pulse(
            self.run,
            lambda: [str(self.log), str(folder / "gone.log")],
            wall=lambda: WALL + self.now,
            steady=lambda: self.now,
            beaten=beaten,
        )

    def write(self, age: float = 0.0) -> None:
        os.utime(self.log, (WALL + self.now - age,) * 2)

    def train(self, points: int = 1) -> None:
        at = np.arange(self.points, self.points + points)
        self.points += points
        self.run.add(Points("train.loss", at, at * 1.0, np.full(points, math.nan), str(self.log)))

    def later(self, seconds: float, points: int = 0) -> None:
        """So many seconds pass; then so many points are written and felt."""
        self.now += seconds
        if points:
            self.train(points)
            self.write()
        self.pulse.feel()


def test_what_lies_before_the_watch_began_is_told_by_the_last_write_of_the_file(tmp_path: Path) -> None:
    watched = Watched(tmp_path, age=300.0)
    watched.train()
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == pytest.approx(300.0)
    watched.later(20.0)
    assert watched.pulse.tick().quiet == pytest.approx(320.0)


@pytest.mark.parametrize(("age", "known"), [(86_400.0, True), (86_500.0, False)])
def test_what_did_not_grow_for_a_day_when_the_watch_began_is_not_waited_for(
    tmp_path: Path, age: float, known: bool
) -> None:
    watched = Watched(tmp_path, age=age)
    watched.train()
    watched.pulse.feel()
    assert math.isfinite(watched.pulse.tick().quiet) is known
    watched.later(10.0, points=1)
    assert watched.pulse.tick().quiet == 0.0


def test_progress_alone_ends_the_silence_of_a_run_that_has_a_curve(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.train()
    watched.pulse.feel()
    watched.now += 50.0
    watched.run.add(Event("eval"))
    watched.write()
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == pytest.approx(50.0)
    watched.later(5.0, points=1)
    assert watched.pulse.tick().quiet == 0.0


def test_before_the_first_point_any_record_ends_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    assert math.isnan(watched.pulse.tick().quiet)
    watched.pulse.feel()
    watched.now += 40.0
    watched.run.add(Event("start"))
    watched.write()
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == 0.0


def test_a_stamp_ahead_of_the_clock_is_now_and_one_before_the_last_look_is_that_look(tmp_path: Path) -> None:
    watched = Watched(tmp_path, age=-500.0)
    watched.train()
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == 0.0
    watched.now += 30.0
    watched.train()
    watched.write(age=900.0)
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == pytest.approx(30.0)


def test_the_usual_pause_is_the_median_of_those_that_were_watched_by_the_point(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.later(0.0, points=1)
    for _ in range(3):
        watched.later(10.0, points=1)
    assert math.isnan(watched.pulse.tick().usual)
    watched.later(10.0, points=1)
    assert watched.pulse.tick().usual == pytest.approx(10.0)
    for _ in range(6):
        watched.later(10.0, points=5)
    assert watched.pulse.tick().usual == pytest.approx(2.0)


def test_what_was_held_back_came_when_it_was_written(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.later(1.0, 1)
    watched.now += 5.0
    watched.write()
    watched.pulse.feel(held=True)
    for _ in range(3):
        watched.later(5.0)
    watched.train()
    watched.pulse.feel()
    assert watched.pulse.tick().quiet == pytest.approx(15.0)
    watched.train()
    watched.later(1.0)
    assert watched.pulse.tick().quiet == pytest.approx(1.0)


def test_a_heartbeat_is_as_old_as_its_file_until_it_says_another_time(tmp_path: Path) -> None:
    watched = Watched(tmp_path, age=7.0)
    watched.run.add(Fact("heartbeat.time", 1.0, "run", str(watched.log)))
    watched.pulse.feel()
    assert watched.pulse.tick().heartbeat == pytest.approx(7.0)
    watched.now += 60.0
    watched.write()
    watched.run.add(Fact("heartbeat.time", 1.0, "run", str(watched.log)))
    watched.pulse.feel()
    assert watched.pulse.tick().heartbeat == pytest.approx(67.0)
    watched.run.add(Fact("heartbeat.time", 2.0, "run", str(watched.log)))
    watched.pulse.feel()
    assert watched.pulse.tick().heartbeat == 0.0


def test_of_two_heartbeats_the_newer_counts_and_without_any_its_age_is_unknown(tmp_path: Path) -> None:
    named = [990.0]
    assert Watched(tmp_path, beaten=lambda: named[0]).pulse.tick().heartbeat == pytest.approx(10.0)
    watched = Watched(tmp_path, age=7.0, beaten=lambda: named[0])
    watched.run.add(Fact("heartbeat.time", 1.0, "run", str(watched.log)))
    watched.pulse.feel()
    assert watched.pulse.tick().heartbeat == pytest.approx(7.0)
    named[0] = 999.0
    assert watched.pulse.tick().heartbeat == pytest.approx(1.0)
    assert math.isnan(Watched(tmp_path).pulse.tick().heartbeat)
