"""The incident table of the reliability plan, row by row, with real processes: what notices, at which
threshold, what is done, and who is told.

Utilisation of the GPU is sampled where there is one; its rule has cases of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TRAINEE = Path(__file__).with_name("trainee.py")
SETTINGS = """
[policy]
auto = ["safe", "guarded"]
cooldown_s = 0
min_probability = 0.2
[alerts]
command = "tee -a {told}"
"""


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "hrmdoc" / "hrmdoc.toml"
    own.parent.mkdir(parents=True)
    own.write_text(SETTINGS.format(told=tmp_path / "told"))
    return tmp_path


@contextmanager
def running(run: Path, *faults: str) -> Iterator[None]:
    """A trainer, and a watch that acts on it; both have ended afterwards."""
    trainer = subprocess.Popen([sys.executable, str(TRAINEE), str(run), *faults])
    until(lambda: (run / "run.json").is_file())
    words = [sys.executable, "-m", "hrmdoc", "watch", "--act", str(run)]
    watch = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        (run / "stop").touch()
        trainer.wait(timeout=60)
        try:
            watch.wait(timeout=60)
        finally:
            watch.kill()


def until(what: Callable[[], object]) -> None:
    for _ in range(1200):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


def lines(path: Path) -> list[dict[str, object]]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    except (OSError, ValueError):
        return []


def done(run: Path) -> list[tuple[object, object]]:
    return [(one["remedy"], one["status"]) for one in lines(run / "actions.jsonl")]


def history(run: Path, symptom: str) -> list[object]:
    return [one["change"] for one in lines(run / "incidents.jsonl") if one["symptom"] == symptom]


def test_a_loss_that_is_no_number_rolls_back_and_goes_on(apart: Path) -> None:
    run = apart / "run"
    with running(run, "nan"):
        until(lambda: ("roll-back", "helped") in done(run))
        until(lambda: history(run, "loss-nonfinite") == ["opened", "resolved"])
    assert done(run)[:2] == [("roll-back", "done"), ("roll-back", "helped")]
    assert "nan" not in (run / "train.log").read_text().splitlines()[-1]
    assert "loss-nonfinite" in (apart / "told").read_text()


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A disk of that size; the test is skipped where none can be mounted."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
def test_a_disk_below_five_gigabytes_pauses_checkpoints_until_there_is_room(apart: Path) -> None:
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("only root can mount a small disk")
    with small_disk(apart / "disk", 5 * 1024 + 200) as disk:
        run = disk / "run"
        with running(run):
            until(lambda: (run / "checkpoints" / "step_40").is_dir())
            assert done(run) == []
            with (disk / "hog").open("wb") as hog:
                os.posix_fallocate(hog.fileno(), 0, 300 << 20)
            until(lambda: ("pause-checkpoints", "done") in done(run))
            paused = len(lines(run / "events.jsonl"))
            (disk / "hog").unlink()
            until(lambda: ("pause-checkpoints", "released") in done(run))
            until(lambda: "checkpoint" in [one["event"] for one in lines(run / "events.jsonl")[paused + 1 :]])
        asked = [one["action"] for one in lines(run / "events.jsonl") if one["event"] == "action"]
        assert asked == ["pause_checkpoints", "resume_checkpoints"]


def test_a_heart_that_stopped_is_told_and_so_is_that_it_beats_again(apart: Path) -> None:
    run = apart / "run"
    run.mkdir()
    (run / "still").touch()
    (run / "heartbeat.json").write_text(json.dumps({"time": time.time() - 200, "step": 1, "pid": 1}))
    os.utime(run / "heartbeat.json", times=(time.time() - 200,) * 2)
    with running(run):
        until(lambda: history(run, "heartbeat-lapsed") == ["opened"])
        until(
            lambda: "heartbeat-lapsed" in ((apart / "told").read_text() if (apart / "told").exists() else "")
        )
        (run / "still").unlink()
        until(lambda: history(run, "heartbeat-lapsed") == ["opened", "resolved"])
    told = (apart / "told").read_text()
    assert "opened" in told
    assert "resolved" in told


def test_a_trainer_that_is_killed_is_back_behind_its_backoff(apart: Path) -> None:
    run = apart / "run"
    words = ["run", "--log", "o.log", "--restart", "2", "--backoff", "0.5", "--"]
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "hrmdoc", *words, sys.executable, str(TRAINEE), str(run)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def alive(after: int) -> int:
        found = json.loads((run / "run.json").read_text())["pid"] if (run / "run.json").exists() else 0
        return int(found) if found != after else 0

    until(lambda: alive(0))
    first = alive(0)
    os.kill(first, signal.SIGKILL)
    until(lambda: alive(first))
    (run / "stop").touch()
    assert supervisor.wait(timeout=60) == 0
    attempts = json.loads(Path("o.log.hrmdoc/state.json").read_text())["attempts"]
    assert [one["status"] for one in attempts] == [-9, 0]
    assert attempts[1]["began"] - attempts[0]["ended"] >= 0.5
