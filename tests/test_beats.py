"""Signs of life: written while training goes on, never at its cost."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import hrmdoc
from hrmdoc.beats import EXPIRES_S, KEPT_S, VARIABLE, Heartbeat, place, target
from hrmdoc.errors import ConfigError
from tests.services import free_port, redis_server
from tests.waiting import until


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)


class Kept:
    """A place that remembers, and may refuse."""

    def __init__(self) -> None:
        self.signs: list[dict[str, Any]] = []
        self.expiries: list[int] = []
        self.refuses = False

    def write(self, text: str, expires_s: int) -> None:
        if self.refuses:
            raise ConnectionError("Connection refused, password=hunter2hunter2")
        self.signs.append(json.loads(text))
        self.expiries.append(expires_s)

    def read(self) -> None:
        return None


def test_three_lines_write_a_file_that_tells_step_process_and_end(tmp_path: Path) -> None:
    with hrmdoc.heartbeat("runs/a") as beat:
        beat(7)
        file = tmp_path / "runs" / "a" / "heartbeat.json"
        until(lambda: file.is_file())
        assert json.loads(file.read_text())["state"] == "running"
    told = json.loads(file.read_text())
    assert (told["step"], told["state"]) == (7, "finished")
    assert {"time", "pid", "host"} <= set(told)


def test_a_loop_that_raises_has_crashed() -> None:
    kept = Kept()
    with pytest.raises(ZeroDivisionError), Heartbeat(kept, print):
        raise ZeroDivisionError
    assert (kept.signs[-1]["state"], kept.expiries[-1]) == ("crashed", KEPT_S)


def test_a_loop_that_hangs_falls_silent_and_signs_expire() -> None:
    kept = Kept()
    beat = Heartbeat(kept, print, every_s=0.01)
    until(lambda: len(kept.signs) == 1)
    beat(1)
    until(lambda: len(kept.signs) == 2)
    time.sleep(0.1)
    assert (len(kept.signs), kept.expiries) == (2, [EXPIRES_S, EXPIRES_S])
    beat.close()


def test_any_thread_may_give_signs() -> None:
    kept = Kept()
    beat = Heartbeat(kept, print, every_s=0.001)
    threads = [threading.Thread(target=lambda: [beat(step) for step in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    beat.close()
    assert (kept.signs[-1]["step"], kept.signs[-1]["state"]) == (1999, "finished")


def test_a_place_that_refuses_is_said_once_without_secrets_and_training_goes_on() -> None:
    kept, said = Kept(), []
    kept.refuses = True
    beat = Heartbeat(kept, said.append, every_s=0.005)
    for step in range(20):
        beat(step)
        time.sleep(0.005)
    kept.refuses = False
    until(lambda: [beat(20), len(kept.signs)][1] > 0)
    beat.close()
    assert len(said) == 1
    assert "Connection refused" in said[0]
    assert "hunter2" not in said[0]


@pytest.mark.parametrize(
    "where", [None, "http://host/x", "redis://host:port/0", "redis://127.0.0.1:1/0", "/proc/nowhere", 7, "\0"]
)
def test_no_mistake_ends_a_training(where: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hrmdoc"):
        with hrmdoc.heartbeat(where) as beat:
            beat(1)
        assert "training goes on" in caplog.text


def test_the_variable_names_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "here.json"))
    hrmdoc.heartbeat().close()
    assert json.loads((tmp_path / "here.json").read_text())["pid"] == os.getpid()


def test_a_script_that_ends_without_a_word_has_told_its_end(tmp_path: Path) -> None:
    script = "import hrmdoc; beat = hrmdoc.heartbeat('run'); beat(3)"
    file = tmp_path / "run" / "heartbeat.json"
    for more, state in (("", "finished"), ("; 1/0", "crashed")):
        subprocess.run([sys.executable, "-c", script + more], check=False, capture_output=True, cwd=tmp_path)
        assert (json.loads(file.read_text())["state"], more) == (state, more)


def test_a_fork_gives_signs_of_its_own(tmp_path: Path) -> None:
    script = (
        "import os, time, hrmdoc, sys\n"
        "beat = hrmdoc.heartbeat('run'); beat(1); time.sleep(1.3)\n"
        "pid = os.fork()\n"
        "if not pid:\n    beat(2); time.sleep(1.5); os._exit(0)\n"
        "os.waitpid(pid, 0); print(open('run/heartbeat.json').read(), pid); os._exit(0)\n"
    )
    words = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path)
    sign, pid = done.stdout.split("\n")[0], int(done.stdout.split()[-1])
    assert (json.loads(sign)["step"], json.loads(sign)["pid"]) == (2, pid)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("http://a:b@host/x", "no heartbeat can go to http://host/x"),
        ("redis://u:pw@h:x/0", "no address of a Redis"),
    ],
)
def test_a_place_that_is_none_is_refused_without_its_password(where: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        target(where, "run")
    assert "pw" not in str(caught.value) + place(where)


@pytest.mark.services
def test_a_key_of_redis_expires_and_an_end_stays(tmp_path: Path) -> None:
    redis = pytest.importorskip("redis", reason="the extra `redis` is not installed")
    with redis_server(tmp_path) as port, redis.Redis(port=port) as client:
        with hrmdoc.heartbeat(f"redis://127.0.0.1:{port}/0#my-run") as beat:
            beat(5)
            until(lambda: client.get("my-run") is not None)
            assert 0 < client.ttl("my-run") <= EXPIRES_S
        assert json.loads(client.get("my-run"))["state"] == "finished"
        assert client.ttl("my-run") > EXPIRES_S
        found = target(f"redis://127.0.0.1:{port}/0#my-run", "x").read()
        assert found is not None
        hrmdoc.heartbeat(f"redis://127.0.0.1:{port}/0", name="other").close()
        assert client.get("hrmdoc:heartbeat:other") is not None


@pytest.mark.services
def test_a_redis_that_comes_late_or_goes_away_costs_nothing(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    port, said = free_port(), []
    beat = Heartbeat(target(f"redis://127.0.0.1:{port}/0#k", "x"), said.append, every_s=0.01)
    until(lambda: len(said) == 1)
    with redis_server(tmp_path, port):
        place_ = target(f"redis://127.0.0.1:{port}/0#k", "x")
        until(lambda: [beat(1), place_.read()][1] is not None)
    beat.close()
    assert len(said) >= 2, "that it fails, and that it works again"


def test_a_pipe_in_the_place_of_a_heartbeat_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "heartbeat.json")
    with pytest.raises(OSError, match="regular file"):
        target(str(tmp_path), "run").read()


def test_a_folder_in_the_place_of_a_heartbeat_holds_no_file_open(tmp_path: Path) -> None:
    (tmp_path / "heartbeat.json").mkdir()
    kept = target(str(tmp_path), "run")
    before = psutil.Process().num_fds()
    for _ in range(50):
        with pytest.raises(OSError, match="regular file"):
            kept.read()
    assert psutil.Process().num_fds() < before + 25, "threads of other tests may open a few"
