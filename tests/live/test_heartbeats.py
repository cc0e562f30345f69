"""A heartbeat that stops is an incident, and one that is back ends it, in a file and in Redis; by an invented
clock."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hrmdoc.beats import Sign, target
from hrmdoc.live.heartbeats import Heartbeats
from hrmdoc.live.watch import Update, Watch
from hrmdoc.settings import Settings
from tests.services import redis_server

pytestmark = pytest.mark.usefixtures("apart")

START = 1_790_000_000.0


@pytest.fixture(autouse=True)
def costless(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a run is examined again depends on what that costs, for which no invented clock would make up."""
    monkeypatch.setattr(time, "process_time", lambda: 0.0)


class Followed:
    """A run that logs now and then, a heartbeat that is named, and their watch; all by one clock."""

    def __init__(self, where: str, log: Path) -> None:
        self.now, self.log, self.step = START, log, 0
        self.train(40)
        self.watch = Watch(
            str(log),
            interval=0.1,
            settings=Settings(heartbeat=where),
            now=lambda: self.now,
            steady=lambda: self.now - START + 1000,
        )
        self._updates: Iterator[Update] = iter(self.watch.updates())

    def train(self, points: int) -> None:
        with self.log.open("a") as file:
            for _ in range(points):
                file.write(f"step {self.step} | loss {2 - self.step / 200}\n")
                self.step += 1
        os.utime(self.log, (self.now, self.now))

    def later(self, seconds: float) -> list[str]:
        """What changed after so many seconds."""
        self.now += seconds
        assert self.watch._heartbeats is not None
        self.watch._heartbeats.read()
        return [f"{one.change} {one.symptom}" for one in next(self._updates).changes]


def lapses_and_is_back(run: Followed, beat: Callable[[], None]) -> None:
    beat()
    assert run.later(6) == []
    assert run.later(100) == []
    assert run.later(19) == []
    assert run.later(6) == ["opened heartbeat-lapsed"]
    beat()
    assert run.later(6) == []
    beat()
    assert run.later(11) == ["resolved heartbeat-lapsed"]
    assert run.later(30) == []


def test_a_file_that_is_no_longer_renewed_is_an_incident_until_it_is(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "heartbeat.json"
    file.parent.mkdir()
    run = Followed(str(file.parent), tmp_path / "train.log")
    signs = iter(range(100))

    def beat() -> None:
        file.write_text(json.dumps({"step": next(signs), "state": "running"}))

    lapses_and_is_back(run, beat)


def test_who_asks_whether_a_run_hangs_learns_of_its_heartbeat(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.json"
    run = Followed(str(file), tmp_path / "train.log")
    file.write_text(json.dumps({"step": 1, "state": "running"}))
    run.later(50)
    assert run.watch.unbeaten() < 5
    run.now += 70
    assert 70 <= run.watch.unbeaten() < 75
    file.write_text(json.dumps({"step": 2, "state": "finished"}))
    run.later(6)
    assert run.watch.unbeaten() == math.inf


@pytest.mark.services
def test_a_key_of_redis_that_is_no_longer_renewed_is_an_incident_until_it_is(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    with redis_server(tmp_path) as port:
        where = f"redis://127.0.0.1:{port}/0"
        run, key = Followed(where, tmp_path / "train.log"), target(where, "train")
        signs = iter(range(100))
        lapses_and_is_back(run, lambda: key.write(json.dumps({"step": next(signs), "state": "running"}), 120))


class Kept:
    """A place that holds one sign, or cannot be read."""

    def __init__(self) -> None:
        self.held: tuple[str, float] | None = None  # words, and their age
        self.down = False

    def write(self, text: str, expires_s: int) -> None:
        raise NotImplementedError

    def read(self) -> Sign | None:
        if self.down:
            raise ConnectionError("refused \x1b[31m")
        return None if self.held is None else Sign(*self.held, self.held[0])


def heartbeats(kept: Kept, clock: list[float], said: list[str]) -> Heartbeats:
    return Heartbeats(kept, said.append, lambda: clock[0])


def test_a_key_that_is_missing_from_the_beginning_is_silence_since_the_watch_began() -> None:
    clock = [100.0]
    found = heartbeats(Kept(), clock, [])
    clock[0] = 300.0
    found.read()
    assert found.beaten() == 100.0


def test_what_lay_there_before_is_as_old_as_it_says_and_what_comes_later_is_new() -> None:
    kept, clock = Kept(), [100.0]
    kept.held = ('{"step": 1}', 60.0)
    found = heartbeats(kept, clock, [])
    found.read()
    assert found.beaten() == 40.0
    clock[0] = 110.0
    found.read()
    assert found.beaten() == 40.0
    kept.held = ('{"step": 2}', 50.0)  # by a clock of another machine
    found.read()
    assert found.beaten() == 110.0
    kept.held = None  # expired
    clock[0] = 500.0
    found.read()
    assert found.beaten() == 110.0


@pytest.mark.parametrize("text", ['{"state": "finished"}', '{"state": "crashed", "step": 3}'])
def test_a_run_that_told_its_end_is_not_missed(text: str) -> None:
    kept = Kept()
    kept.held = (text, 0.0)
    found = heartbeats(kept, [0.0], [])
    found.read()
    assert str(found.beaten()) == "nan"


def test_where_it_cannot_be_read_nothing_is_known_and_that_is_said_once() -> None:
    kept, clock, said = Kept(), [0.0], []
    found = heartbeats(kept, clock, said)
    kept.down = True
    for _ in range(3):
        clock[0] += 200
        found.read()
    assert str(found.beaten()) == "nan"
    assert said == ["the heartbeat cannot be read: refused "]
    kept.down, kept.held = False, ("[1", 0.0)
    found.read()
    assert found.beaten() == 600.0
