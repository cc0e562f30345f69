"""What a machine does to a watch: full disks, no file events, clocks that are set, files of a network."""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hrmdoc.live.watch import Watch
from hrmdoc.settings import Settings
from tests.chaos.simulated import Simulated
from tests.chaos.tools import TRAINEE, SkipError, history, hrmdoc, line, until


def exhausted_file_events(folder: Path, options: argparse.Namespace) -> str:
    """No file event is to be had: polling finds everything."""
    from watchdog.observers import Observer

    log = folder / "train.log"
    log.write_text("".join(line(step) for step in range(1, 50)))
    full = OSError(errno.EMFILE, "inotify instance limit reached")
    with mock.patch.object(Observer, "start", side_effect=full):
        watch = Watch(str(log), settings=Settings(), interval=0.1, remember=False)
        seen = []
        for update in watch.updates():
            seen.append(update.analysis.run.points)
            if len(seen) == 1:
                with log.open("a") as file:
                    file.writelines(line(step, lost=True) for step in range(50, 60))
            if any(one.symptom == "loss-nonfinite" for one in update.changes):
                watch.stop()
    assert len(seen) >= 2
    return "the loss that was lost was told"


def a_full_disk(folder: Path, options: argparse.Namespace) -> str:
    """The disk of trainer and watch is full while an incident opens; it is recorded once there is room."""
    if os.name != "posix" or os.getuid() != 0:
        raise SkipError("only root can mount a small disk")
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True
    ).returncode:
        raise SkipError("no disk can be mounted here")
    try:
        run = disk / "run"
        trainer = subprocess.Popen([sys.executable, str(TRAINEE), str(run)], cwd=folder)
        until(lambda: (run / "events.jsonl").exists())
        os.kill(trainer.pid, signal.SIGSTOP)
        watch = hrmdoc(folder, "watch", str(run))
        with (run / "train.log").open("a") as log:
            log.writelines(line(step, lost=step > 1040) for step in range(1000, 1080))
        hog = (disk / "hog").open("wb")
        _fill(hog.fileno())
        time.sleep(4)
        assert watch.poll() is None, "the watch ended for a full disk"
        os.truncate(disk / "hog", 0)
        hog.close()
        os.kill(trainer.pid, signal.SIGCONT)
        until(lambda: history(run)["loss-nonfinite", "opened"] == 1)
        until(lambda: history(run)["loss-nonfinite", "resolved"] == 1, 120)
        (run / "stop").touch()
        trainer.wait(timeout=60)
        watch.wait(timeout=60)
        assert max(history(run).values()) == 1, dict(history(run))
    finally:
        subprocess.run(["umount", "-l", disk], check=False)
    return "opened and resolved once"


def _fill(descriptor: int) -> None:
    try:
        while True:
            os.write(descriptor, b"x" * 4096)
    except OSError:
        return


JUMPS_S = (-86_400.0, 86_400.0, -3600.0, 3600.0, 0.0)


def a_clock_that_is_set(folder: Path, options: argparse.Namespace) -> str:
    """The wall clock of real processes is set a day and an hour back and forth while the run goes on; then
    its loss is lost. Their steady clock and the times of files stay as they are, as on a machine."""
    library, offset = folder / "clock.so", folder / "offset"
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        raise SkipError("no compiler for what stands before the clock, and nobody may set the machine's own")
    source = str(Path(__file__).with_name("clock.c"))
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
    dice, run = random.Random(options.seed), folder / "run"
    offset.write_bytes(struct.pack("d", 0.0))
    variables = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}
    words = [sys.executable, str(TRAINEE), str(run)]
    trainer = subprocess.Popen(words, cwd=folder, env={**os.environ, **variables})
    until(lambda: (run / "events.jsonl").exists())
    watch = hrmdoc(folder, "watch", "run", variables=variables)
    until(lambda: (run / "host.jsonl").exists())
    seen = set()
    for _ in range(30):
        time.sleep(0.7)
        seen.add(round((_told_time(run) - time.time()) / 100))
        with offset.open("r+b") as file:
            file.write(struct.pack("d", dice.choice(JUMPS_S)))
    assert watch.poll() is None, "the watch ended"
    assert len(seen) == len(JUMPS_S), f"the clocks did not jump: {seen}"
    assert not history(run), f"a clock that was set made incidents: {dict(history(run))}"
    os.kill(trainer.pid, signal.SIGSTOP)
    with (run / "train.log").open("a") as log:
        log.writelines(line(step, lost=True) for step in range(10_000, 10_040))
    until(lambda: history(run)["loss-nonfinite", "opened"] == 1)
    os.kill(trainer.pid, signal.SIGCONT)
    (run / "stop").touch()
    trainer.wait(timeout=60)
    watch.wait(timeout=60)
    assert history(run)["loss-nonfinite", "opened"] == 1, dict(history(run))
    return "30 settings of the clocks of trainer and watch, by hours and days"


def _told_time(run: Path) -> float:
    """The time that the trainer says it is."""
    beat: dict[str, float] = json.loads((run / "heartbeat.json").read_text())
    return beat["time"]


class Network:
    """Files as a client of NFS shows them: sizes and times may be three seconds old until a file is opened,
    times are whole seconds, and now and then a handle is stale."""

    def __init__(self, folder: Path, seed: int, steady: Callable[[], float]) -> None:
        self._folder, self._dice, self._steady = str(folder), random.Random(seed), steady
        self._stat, self._open = os.stat, os.open
        self._kept: dict[str, tuple[float, os.stat_result]] = {}
        self.stale = 0

    def stat(self, path: Any, **more: Any) -> os.stat_result:
        """`os.stat`, by the attributes that were kept."""
        if not str(path).startswith(self._folder):
            return self._stat(path, **more)
        at, found = self._kept.get(str(path), (-9.0, None))
        if found is None or self._steady() - at >= 3:
            self._fail()
            found = self._coarse(self._stat(path, **more))
            self._kept[str(path)] = self._steady(), found
        return found

    def open(self, path: Any, *more: Any, **options: Any) -> int:
        """`os.open`, which asks the server."""
        if str(path).startswith(self._folder):
            self._fail()
            self._kept.pop(str(path), None)
        return self._open(path, *more, **options)

    def _fail(self) -> None:
        if self._dice.random() < 0.05:
            self.stale += 1
            raise OSError(errno.ESTALE, "Stale file handle")

    @staticmethod
    def _coarse(found: os.stat_result) -> os.stat_result:
        names = {"st_mtime_ns": int(found.st_mtime) * 10**9, "st_mtime": float(int(found.st_mtime))}
        values = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        return os.stat_result(tuple(found), {**values, **names})


def a_network_folder(folder: Path, options: argparse.Namespace) -> str:
    """A log on a file system without file events, with old attributes, coarse times and stale handles; it is
    written, and rotated by renaming. Nothing is lost and nothing counted twice."""
    log, step, turns = folder / "train.log", 0, 0

    def pass_time(simulated: Simulated) -> bool:
        nonlocal step, turns
        with open(log, "a") as file:
            for _ in range(7):
                step += 1
                file.write(line(step, lost=4000 <= step < 4100))
        simulated.wall += 1
        simulated.steady += 1
        if step % 700 == 350:
            turns += 1
            log.rename(folder / f"train.log.{turns}")
        return step < 7000

    simulated = Simulated(log, pass_time)
    network = Network(folder, options.seed, lambda: simulated.steady)
    with mock.patch.object(os, "stat", network.stat), mock.patch.object(os, "open", network.open):
        simulated.run()
    series = simulated.watch.session.run.best("train.loss")
    assert series is not None
    steps = series.steps.tolist()
    assert len(set(steps)) == len(steps), "a point was counted twice"
    assert len(steps) == step + 1, f"{step + 1 - len(steps)} points were lost"
    opened = simulated.changes["loss-nonfinite", "opened"], simulated.changes["loss-nonfinite", "reopened"]
    assert opened == (1, 0), dict(simulated.changes)
    return f"{step} points, {turns} rotations, {network.stale} stale handles"
