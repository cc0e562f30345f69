"""The incident table of the reliability plan, row by row, with real processes: what notices, at which
threshold, what is done, and who is told.

The GPU is a program of the name nvidia-smi, which says what a file says. Five minutes of an idle GPU pass in
seconds, because the clocks of the watch run sixty times as fast.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import until

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
def running(
    run: Path, *faults: str, options: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A trainer, and a watch that acts on it; both have ended afterwards."""
    trainer = subprocess.Popen([sys.executable, str(TRAINEE), str(run), *faults])
    until(lambda: (run / "run.json").is_file())
    words = [sys.executable, "-m", "hrmdoc", "watch", "--act", *options, str(run)]
    watch = subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, **(variables or {})})
    try:
        yield
    finally:
        (run / "stop").touch()
        trainer.wait(timeout=60)
        try:
            watch.wait(timeout=60)
        finally:
            watch.kill()


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


FAST = """
import time
wall, steady, times = time.time, time.monotonic, 60.0
began, since = wall(), steady()
time.time = lambda: began + times * (wall() - began)
time.monotonic = lambda: since + times * (steady() - since)
"""
SMI = """#!/bin/sh
case $1 in
*apps*) echo "GPU-a, $(cat {here}/pid)";;
*) echo "0, GPU-a, $(cat {here}/util), 30210, 81559, 61, 402.11, 0x0, 1980";;
esac
"""


@pytest.fixture
def gpu(apart: Path) -> Path:
    """The folder of a GPU that says what is written there: `util`, and `pid` of who computes on it."""
    here = apart / "gpu"
    here.mkdir()
    (here / "sitecustomize.py").write_text(FAST)
    (here / "nvidia-smi").write_text(SMI.format(here=here))
    (here / "nvidia-smi").chmod(0o700)
    (here / "pynvml.py").write_text("raise ImportError")
    (here / "util").write_text("96")
    (here / "pid").write_text("1")
    return here


def beside(gpu: Path) -> dict[str, str]:
    """The variables of who finds that GPU, and whose clocks are fast."""
    return {"PATH": f"{gpu}:{os.environ['PATH']}", "PYTHONPATH": str(gpu)}


def test_an_idle_gpu_starts_the_job_again_where_that_is_asked_for(apart: Path, gpu: Path) -> None:
    run = apart / "run"
    options = ["--restart", "2", "--backoff", "0", "--restart-on", "gpu-util-low", "--measure", "0.2"]
    words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", *options, "--"]
    supervisor = subprocess.Popen(
        [*words, sys.executable, str(TRAINEE), str(run)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **beside(gpu)},
    )

    def trainer() -> int:
        return int(json.loads((run / "run.json").read_text())["pid"]) if (run / "run.json").exists() else 0

    try:
        until(trainer)
        first = trainer()
        (gpu / "pid").write_text(str(first))
        (gpu / "util").write_text("0")
        until(lambda: trainer() != first)
        (gpu / "util").write_text("95")
        (gpu / "pid").write_text(str(trainer()))
        (run / "stop").touch()
        assert supervisor.wait(timeout=60) == 0
    finally:
        supervisor.kill()
    attempts = json.loads(Path("o.log.hrmdoc/state.json").read_text())["attempts"]
    assert [(one["call"], one["failure"]) for one in attempts] == [("RESTART", "gpu-util-low"), ("OK", "")]
    assert "gpu-util-low" in (apart / "told").read_text()


def test_a_gpu_below_ten_percent_for_five_minutes_is_told_and_so_is_that_it_works_again(
    apart: Path, gpu: Path
) -> None:
    run = apart / "run"

    def measured() -> list[float]:
        samples = [one.get("values") for one in lines(run / "host.jsonl")]
        return [one["gpu.util"] for one in samples if isinstance(one, dict) and "gpu.util" in one]

    def reported() -> int:
        told = apart / "told"
        return told.read_text().count("gpu-util-low") if told.exists() else 0

    with running(run, options=["--measure", "0.2"], variables=beside(gpu)):
        (gpu / "pid").write_text(str(json.loads((run / "run.json").read_text())["pid"]))
        until(lambda: 96 in measured())
        (gpu / "util").write_text("0")
        until(lambda: history(run, "gpu-util-low") == ["opened"])
        idle = measured()
        until(lambda: reported() >= 1)
        (gpu / "util").write_text("93")
        until(lambda: history(run, "gpu-util-low") == ["opened", "resolved"])
        until(lambda: reported() >= 2)
    assert idle.count(0) >= 5, "a sample a minute, for five minutes"
