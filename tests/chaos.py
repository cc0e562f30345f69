"""Breaks what can break around a watched run, and looks whether anything is lost or told twice.

    python tests/chaos.py [--kills 40] [--hours 24] [--seed 0] [--only NAME]

Prints what was tried and what held; the exit status is 1 where something did not. What a machine cannot
try is named. Clocks and exhausted file events are stood in for inside the process; all else is real.
"""

from __future__ import annotations

import argparse
import errno
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from hrmdoc.live.actionlog import verify
from hrmdoc.live.watch import Watch
from hrmdoc.settings import Settings

HERE = Path(__file__).parent
TRAINEE = HERE / "live" / "trainee.py"
CLIMBER = """
import os, time
n = int(os.environ["HRMDOC_ATTEMPT"])
open("pids", "a").write(f"{os.getpid()}\\n")
for i in range(100000):
    print(f"step {1000 * n + i} | loss {1 + 1 / (n + i + 1):.4f}", flush=True)
    if os.path.exists("stop"): break
    time.sleep(0.02)
"""
HELD = "held"


class SkipError(Exception):
    """This machine cannot try it."""


def until(what: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits for it.

    Raises:
        AssertionError: it did not come.
    """
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def hrmdoc(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """The command, at work in a folder with a state and settings of its own."""
    places = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    return subprocess.Popen(
        [sys.executable, "-m", "hrmdoc", *words],
        cwd=folder,
        env={**os.environ, **places},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def living(folder: Path) -> list[psutil.Process]:
    """Processes at work in the folder, dead ones that nobody buried among them."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.cwd() == str(folder):
                found.append(process)
        except psutil.Error:
            continue
    return found


def state(folder: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads((folder / "o.log.hrmdoc" / "state.json").read_text())
    except (OSError, ValueError):
        return {"attempts": [], "phase": ""}
    return kept


def kills_of_both(folder: Path, options: argparse.Namespace) -> str:
    """Trainer and supervisor are killed at random moments; each trainer comes back once, under whichever
    supervisor."""
    dice = random.Random(options.seed)
    (folder / "climb.py").write_text(CLIMBER)
    words = (
        "run",
        "--log",
        "o.log",
        "--restart",
        "1000",
        "--backoff",
        "0.01",
        "--",
        sys.executable,
        "climb.py",
    )
    supervisor, killed = hrmdoc(folder, *words), Counter[str]()
    while killed.total() < options.kills:
        number = killed["trainer"] + 1
        until(lambda: (folder / "pids").exists() and len((folder / "pids").read_text().split()) >= number)  # noqa: B023
        time.sleep(dice.random() * 0.6)
        if dice.random() < 0.5:
            pids = (folder / "pids").read_text().split()
            os.kill(int(pids[-1]), signal.SIGKILL)
            killed["trainer"] += 1
        else:
            supervisor.kill()
            supervisor.wait()
            killed["supervisor"] += 1
            supervisor = hrmdoc(folder, *words)
    until(lambda: len((folder / "pids").read_text().split()) == killed["trainer"] + 1)
    (folder / "stop").touch()
    assert supervisor.wait(timeout=60) == 0
    attempts = state(folder)["attempts"]
    assert [one["number"] for one in attempts] == list(range(1, killed["trainer"] + 2)), "a start was lost"
    assert [one["status"] for one in attempts] == [-9] * killed["trainer"] + [0]
    assert verify(folder / "o.log.hrmdoc" / "actions.jsonl").flaw == ""
    assert not living(folder), "something was left behind"
    return f"{killed['trainer']} of the trainer, {killed['supervisor']} of the supervisor"


class Receiver(http.server.BaseHTTPRequestHandler):
    """A target of alerts that is down at first."""

    down = 3
    asked = 0
    got: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.asked += 1
        refused = Receiver.asked <= Receiver.down
        if not refused:
            Receiver.got.append(json.loads(body))
        self.send_response(503 if refused else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def receiver() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def history(run: Path) -> Counter[tuple[str, str]]:
    try:
        lines = (run / "incidents.jsonl").read_text().splitlines()
    except OSError:
        return Counter()
    return Counter((one["symptom"], one["change"]) for one in map(json.loads, lines))


def kills_of_the_watch(folder: Path, options: argparse.Namespace) -> str:
    """A watch is killed again and again while incidents open and resolve and the target of alerts is down."""
    dice, run = random.Random(options.seed), folder / "run"
    kills = max(4, options.kills // 4)
    with receiver() as port:
        own = folder / "config" / "hrmdoc" / "hrmdoc.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'[alerts]\nwebhook = "http://127.0.0.1:{port}/"\n')
        trainer = subprocess.Popen([sys.executable, str(TRAINEE), str(run), "nan"], cwd=folder)
        until(lambda: (run / "run.json").exists())
        watch = hrmdoc(folder, "watch", "run")
        for number in range(kills):
            time.sleep(1.0 + 2 * dice.random())
            if number == kills // 2:
                until(lambda: history(run)["loss-nonfinite", "opened"])
            watch.kill()
            watch.wait()
            if number == kills // 2:  # the loss is whole again from here on
                (run / "control" / "1.json").write_text('{"id": "1", "action": "rollback"}')
            watch = hrmdoc(folder, "watch", "run")
        until(lambda: history(run)["loss-nonfinite", "resolved"], 120)
        until(lambda: "resolved" in _told("loss-nonfinite"), 180)
        (run / "stop").touch()
        trainer.wait(timeout=60)
        watch.wait(timeout=60)
    twice = {key: count for key, count in history(run).items() if count > 1}
    assert not twice, f"recorded twice: {twice}"
    told = _told("loss-nonfinite")
    assert told == ["opened", "resolved"], f"told: {told}"
    return f"{kills} kills, {Receiver.down} answers of 503"


def _told(symptom: str) -> list[str]:
    return [str(one.get("change")) for one in Receiver.got if one.get("symptom") == symptom]


class Simulated:
    """A watch whose clock and file events are ours: each wait lets some time of the run pass."""

    def __init__(self, log: Path, pass_time: Callable[[Simulated], bool], **options: Any) -> None:
        self.wall, self.steady, self._pass = 1.7e9, 0.0, pass_time
        log.write_text(line(0))  # a file that is empty is looked at again after a real second
        self.watch = Watch(
            str(log),
            settings=Settings(),
            now=lambda: self.wall,
            steady=lambda: self.steady,
            remember=False,
            **options,
        )
        self.watch._waker.close()
        self.watch._waker = self  # type: ignore[assignment]
        self.changes: Counter[tuple[str, str]] = Counter()

    def listen(self, _: object) -> None:
        """File events are none of ours."""

    def close(self) -> None:
        """There is nothing to close."""

    def wait(self, *_: object) -> None:
        if not self._pass(self):
            self.watch.stop()

    def run(self) -> Simulated:
        for look in self.watch.updates():
            self.changes.update((one.symptom, one.change) for one in look.changes)
        return self


def line(step: int, lost: bool = False) -> str:
    wave = random.Random(step).random() / 10
    return f"step {step} | loss {'nan' if lost else f'{1 + 3 / (1 + step / 500) + wave:.4f}'} | lr 0.0003\n"


def a_simulated_day(folder: Path, options: argparse.Namespace) -> str:
    """A point a second for a day, in looks of a minute; three losses of the loss, told once each."""
    log, seconds, memory = folder / "train.log", int(options.hours * 3600), []
    lost = [(int(seconds * share), int(seconds * share) + 150) for share in (0.1, 0.35, 0.9)]
    step = 0

    def minute(simulated: Simulated) -> bool:
        nonlocal step
        with log.open("a") as file:
            for _ in range(60):
                step += 1
                file.write(line(step, any(first <= step < last for first, last in lost)))
        simulated.wall += 60
        simulated.steady += 60
        os.utime(log, (simulated.wall, simulated.wall))
        if step % (seconds // 12 // 60 * 60 or 60) == 0:
            memory.append(psutil.Process().memory_info().rss / 1e6)
        return step < seconds

    found = Simulated(log, minute).run().changes
    opened = found["loss-nonfinite", "opened"] + found["loss-nonfinite", "reopened"]
    assert opened == len(lost), f"{opened} of {len(lost)} losses were told: {dict(found)}"
    assert found["loss-nonfinite", "resolved"] >= len(lost) - 1, dict(found)
    grown = memory[-1] - memory[len(memory) // 2]
    assert grown < 40, f"the second half of the day took {grown:.0f} MB"
    return (
        f"{step:,} points, {opened} incidents, memory {memory[len(memory) // 2]:.0f} to {memory[-1]:.0f} MB"
    )


def a_clock_that_jumps(folder: Path, options: argparse.Namespace) -> str:
    """The wall clock is set a day and an hour back and forth, while the run goes on."""
    log, step, jumps = folder / "train.log", 0, 0
    dice = random.Random(options.seed)

    def pass_time(simulated: Simulated) -> bool:
        nonlocal step, jumps
        step += 1
        with log.open("a") as file:
            file.writelines(line(10 * step + one) for one in range(10))
        simulated.wall += 10
        simulated.steady += 10
        if step % 10 == 0:
            jumps += 1
            simulated.wall += dice.choice([-86_400, 86_400, -3600, 3600])
        os.utime(log, (simulated.wall, simulated.wall))
        return step < 300

    found = Simulated(log, pass_time).run().changes
    assert not found, f"a clock that was set made incidents: {dict(found)}"
    return f"{jumps} jumps"


def rotation(folder: Path, rename: bool) -> str:
    """A log is rotated while it is followed; no point is counted twice, and by renaming none is lost."""
    log, step, turns = folder / "train.log", 0, 0

    def pass_time(simulated: Simulated) -> bool:
        nonlocal step, turns
        with log.open("a") as file:
            for _ in range(20):
                step += 1
                file.write(line(step))
        simulated.wall += 20
        simulated.steady += 20
        if step % 200 == 0:
            turns += 1
            if rename:
                log.rename(folder / f"train.log.{turns}")
            else:
                simulated.watch._follower.poll()
                log.write_text("")
        return step < 3000

    watch = Simulated(log, pass_time).run().watch
    series = watch.session.run.best("train.loss")
    assert series is not None
    steps = Counter(int(one) for one in series.steps)
    assert max(steps.values()) == 1, "a point was counted twice"
    assert len(steps) == step + 1, f"{step + 1 - len(steps)} points were lost"
    return f"{turns} rotations, {step} points"


def exhausted_file_events(folder: Path, options: argparse.Namespace) -> str:
    """No file event is to be had: polling finds everything."""
    from watchdog.observers import Observer

    log = folder / "train.log"
    log.write_text("".join(line(step) for step in range(1, 50)))
    full = OSError(errno.EMFILE, "inotify instance limit reached")
    with mock.patch.object(Observer, "start", side_effect=full):
        watch = Watch(str(log), settings=Settings(), interval=0.1, remember=False)
        seen = []
        for look in watch.updates():
            seen.append(look.analysis.run.points)
            if len(seen) == 1:
                with log.open("a") as file:
                    file.writelines(line(step, lost=True) for step in range(50, 60))
            if any(one.symptom == "loss-nonfinite" for one in look.changes):
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


SCENES: dict[str, Callable[[Path, argparse.Namespace], str]] = {
    "kills of trainer and supervisor": kills_of_both,
    "kills of the watch, target down": kills_of_the_watch,
    "a disk that is full": a_full_disk,
    "a clock that jumps": a_clock_that_jumps,
    "a log rotated by renaming": lambda folder, _: rotation(folder, rename=True),
    "a log rotated by truncation": lambda folder, _: rotation(folder, rename=False),
    "no file events": exhausted_file_events,
    "a simulated day": a_simulated_day,
}


def tried(name: str, options: argparse.Namespace) -> tuple[str, str]:
    """Tries one; the word and what is told of it."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-")).resolve()
    try:
        return HELD, SCENES[name](folder, options)
    except SkipError as error:
        return "not tried", str(error)
    except AssertionError as error:
        return "FAILED", str(error) or "an assertion"
    finally:
        for process in living(folder):
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = False
    for name in SCENES:
        if options.only in name:
            began = time.monotonic()
            word, told = tried(name, options)
            failed = failed or word == "FAILED"
            print(f"{name:34} {word:10} {time.monotonic() - began:5.0f} s  {told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
