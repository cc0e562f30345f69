"""Silence is measured by the growth of files and the watcher's own clock, whatever stamps a log has."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hrmdoc.analysis import Prepared, analyze
from hrmdoc.live.many.fleet_watch import FleetWatch
from hrmdoc.live.watch import Update, Watch

START = 1_790_000_000
PACE = 10
LIMIT = 600


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TZ", "UTC")
    # when a run is examined again depends on what that costs, for which no invented clock would make up
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    yield
    monkeypatch.undo()
    time.tzset()


class Training:
    """A run that logs a point every ten seconds, and a watch of it; both by one invented clock."""

    def __init__(self, folder: Path, *, behind: float = 0.0, stamp: str = "%Y-%m-%d %H:%M:%S") -> None:
        self.log = folder / "train.log"
        self.now, self.step, self.behind, self.stamp = float(START), 0, behind, stamp
        self.go_on(60)
        self.watch = Watch(str(self.log), interval=0.1, now=lambda: self.now, steady=lambda: self.now - START)
        self._updates: Iterator[Update] = iter(self.watch.updates())

    def go_on(self, points: int) -> None:
        """Trains so many points long."""
        with self.log.open("a") as file:
            for _ in range(points):
                self.now += PACE
                shown = time.strftime(self.stamp, time.gmtime(self.now - self.behind))
                file.write(f"{shown} INFO step {self.step} loss {2 - self.step / 1000}\n")
                self.step += 1
        os.utime(self.log, (self.now, self.now))

    def hang(self, seconds: float) -> None:
        self.now += seconds

    def stalled(self) -> bool:
        """Whether the next update finds that the run stands still."""
        update = next(self._updates)
        return any(s.id == "stall" and s.state == "present" for s in update.analysis.symptoms)


@pytest.mark.parametrize("zone", range(-11, 13))
def test_in_every_zone_growth_is_no_stall_and_a_hang_is_seen_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: int
) -> None:
    monkeypatch.setenv("TZ", f"X{-zone:+d}")
    time.tzset()
    training = Training(tmp_path, behind=-zone * 3600)
    for _ in range(3):
        assert not training.stalled()
        training.go_on(2)
    training.hang(LIMIT - PACE)
    assert not training.stalled()
    training.hang(2 * PACE)
    assert training.stalled()


@pytest.mark.parametrize("jump", [3600, -3600], ids=["forward", "back"])
def test_a_change_to_or_from_summer_time_is_no_stall_and_hides_none(tmp_path: Path, jump: int) -> None:
    training = Training(tmp_path)
    assert not training.stalled()
    training.behind -= jump
    training.go_on(30)
    assert not training.stalled()
    training.hang(LIMIT + PACE)
    assert training.stalled()


@pytest.mark.parametrize("behind", [-47.0 * 60, 3 * 86400.0 + 11.0])
def test_a_container_with_another_clock_is_no_stall_and_hides_none(tmp_path: Path, behind: float) -> None:
    training = Training(tmp_path, behind=behind)
    assert not training.stalled()
    training.go_on(3)
    assert not training.stalled()
    training.hang(LIMIT + PACE)
    assert training.stalled()


def test_this_machine_s_clock_set_forward_is_no_stall(tmp_path: Path) -> None:
    training = Training(tmp_path)
    assert not training.stalled()
    training.watch.pulse._wall = lambda: training.now + 86400
    training.go_on(1)
    assert not training.stalled()


def test_a_log_without_times_is_watched_by_the_pace_at_which_it_grows(tmp_path: Path) -> None:
    training = Training(tmp_path, stamp="")
    for _ in range(6):
        assert not training.stalled()
        training.go_on(1)
    assert not training.stalled()
    training.hang(LIMIT + PACE)
    assert training.stalled()


def test_a_run_that_fell_silent_before_the_watch_began_is_found_at_once(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.hang(LIMIT + PACE)
    assert training.stalled()


def test_a_run_that_only_printed_its_start_is_found_after_half_an_hour(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.log.write_text("node01:4711:4711 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n")
    os.utime(training.log, (training.now, training.now))
    again = Watch(str(training.log), interval=0.1, now=lambda: training.now, steady=lambda: training.now)
    updates = iter(again.updates())
    for wait, stalled in ((1700, False), (200, True)):
        training.hang(wait)
        found = {s.id for s in next(updates).analysis.symptoms if s.state == "present"}
        assert ("stall" in found) is stalled


def test_the_heartbeat_of_another_clock_has_not_lapsed_while_it_is_renewed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "id": "x"}')
    now = float(START)

    def beat() -> None:
        (folder / "heartbeat.json").write_text(json.dumps({"time": now - 5000, "step": 3, "pid": 1}))
        os.utime(folder / "heartbeat.json", (now, now))

    beat()
    watch = Watch(str(folder), interval=0.1, now=lambda: now, steady=lambda: now)
    updates = iter(watch.updates())

    def lapsed() -> bool:
        return any(
            s.id == "heartbeat-lapsed" and s.state == "present" for s in next(updates).analysis.symptoms
        )

    assert not lapsed()
    now += 100
    beat()
    assert not lapsed()
    now += 130
    assert lapsed()


@pytest.mark.parametrize("hours", [23, 25, 900])
def test_a_short_watch_of_a_run_that_fell_silent_long_ago_does_not_call_it_healthy(
    tmp_path: Path, hours: int
) -> None:
    log, end = tmp_path / "runs" / "a" / "train.log", time.time() - hours * 3600
    log.parent.mkdir(parents=True)
    stamped = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(end - 20 * (199 - i))) for i in range(200))
    log.write_text("".join(f"{at} step {i}/10000 loss {2 - i / 1000}\n" for i, at in enumerate(stamped)))
    os.utime(log, (end, end))
    *_, last = Watch(str(log)).updates(once=True)
    silent, verdict = ("stall", "critical") if hours < 24 else ("stopped-short", analyze(log).verdict)
    assert silent in {one.id for one in last.analysis.present}
    assert last.analysis.verdict == verdict
    fleet = FleetWatch(str(tmp_path / "runs"), Prepared.of(), old=True)
    assert [one.entry.verdict for one in fleet.examine_all() if one.kind == "examined"] == [verdict]
    assert [entry.state for entry in fleet.entries.values()] == ["idle"]
