"""`hrmdoc watch` as a user meets it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


LOGGING = """
import time
for i in range(60):
    stamp = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(time.time() - 600 + 10 * i))
    print(f'{stamp} INFO step {i} loss {2 - i / 100}')
"""


def aged(path: Path, seconds: float) -> None:
    """Says that the file was last written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo", "UTC"])
def test_a_growing_log_with_local_times_is_no_stall_and_an_old_one_is(
    spawn: Command, apart: Path, zone: str
) -> None:
    log = apart / "train.log"
    command = [sys.executable, "-c", LOGGING]
    environment = {**os.environ, "TZ": zone}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    log.write_bytes(done.stdout)
    fresh = spawn("watch", "--once", log, TZ=zone)
    assert (fresh.status, "opened" in fresh.out) == (0, False), fresh.out
    aged(log, 3600)
    old = spawn("watch", "--once", log, TZ=zone)
    assert old.status == 1
    assert "✗ CRITICAL  No progress" in old.out


def test_a_log_of_the_day_before_yesterday_is_no_run_that_stands_still(spawn: Command, apart: Path) -> None:
    log = apart / "train.log"
    log.write_text("".join(f"step {step} loss {2 - step / 100:.3f}\n" for step in range(60)))
    aged(log, 2 * 86400)
    done = spawn("watch", "--once", log)
    assert (done.status, "No progress" in done.out) == (0, False), done.out


@pytest.mark.parametrize(("gap", "seen"), [(5400, True), (3600, False), (0, False)])
def test_an_hour_and_more_without_progress_is_seen_afterwards_and_summer_time_is_none(
    hrmdoc: Command, apart: Path, gap: int, seen: bool
) -> None:
    begin = 1_774_742_400
    stamps = [begin + 10 * i + (gap if i >= 40 else 0) for i in range(80)]
    lines = (
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))} INFO step {i} loss {2 - i / 100:.3f}\n"
        for i, at in enumerate(stamps)
    )
    (apart / "train.log").write_text("".join(lines))
    out = hrmdoc("analyze", "train.log").out
    assert ("progress-gap" in out) is seen
    assert ("1 h 30 min passed after step 39" in out) is seen


def test_a_lapsed_heartbeat_is_in_the_summary_and_the_exit_status(hrmdoc: Command, apart: Path) -> None:
    run = apart / "run"
    run.mkdir()
    (run / "run.json").write_text('{"schema": "hrmdoc.run/1", "id": "x"}')
    (run / "train.log").write_text("".join(f"step {i} | loss {2 - i / 100}\n" for i in range(60)))
    (run / "heartbeat.json").write_text(json.dumps({"time": time.time() - 300, "step": 59}))
    aged(run / "heartbeat.json", 300)
    done = hrmdoc("watch", "--once", run)
    assert "opened   heartbeat-lapsed" in done.out
    assert "✗ CRITICAL  Heartbeat has lapsed" in done.out
    assert done.status == 1


def test_a_run_that_is_not_there_yet_is_an_error_that_names_the_way_to_wait(hrmdoc: Command) -> None:
    done = hrmdoc("watch", "later.log")
    assert done.status == 2
    assert "later.log: no such file or folder" in done.err
    assert "--wait" in done.err


def test_wait_begins_once_the_run_is_there(apart: Path) -> None:
    command = [sys.executable, "-m", "hrmdoc", "watch", "--wait", "--interval", "0.1", "later.log"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=apart)
    assert process.stderr is not None
    assert "waiting for later.log" in process.stderr.readline()
    (apart / "later.log").write_text("".join(f"step {i} | loss nan\n" for i in range(60)))
    assert process.stdout is not None
    printed = ""
    while "loss-nonfinite" not in printed:
        printed += (line := process.stdout.readline())
        assert line, "the watch ended early: " + printed
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_on_a_terminal_one_line_says_how_the_run_stands(apart: Path) -> None:
    lines = (f"2026-01-01 00:{i // 6:02}:{i % 6}0 step {i}/100 | loss {2 - i / 100:.3f}\n" for i in range(60))
    (apart / "train.log").write_text("".join(lines))
    command = [sys.executable, "-m", "hrmdoc", "watch", "train.log"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=apart)
    os.close(theirs)
    seen = b""
    while b"no open incident" not in seen:
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGTERM)
    assert b"step 59 of 100" in seen
    assert b"loss 1.41" in seen
    assert b"0.1 steps/s" in seen
    assert b"6 min 50 s left" in seen
    while True:
        try:
            if not os.read(ours, 4096):
                break
        except OSError:
            break
    os.close(ours)
    assert process.wait(60) == 0


def test_a_log_that_looks_ended_is_followed_on_and_that_is_said(apart: Path) -> None:
    log = apart / "train.log"
    log.write_text("".join(f"step {i}/60 | loss {3 - i / 30}\n" for i in range(1, 51)))
    with log.open("a") as file:
        file.write('Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n')
        file.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n")
    command = [sys.executable, "-m", "hrmdoc", "watch", "--interval", "0.1", "train.log"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=apart)
    assert process.stdout is not None
    printed = ""
    while "the run broke off; it is followed on until Ctrl-C" not in printed:
        printed += (line := process.stdout.readline())
        assert line, "the watch ended: " + printed
    with log.open("a") as file:
        file.write("".join(f"step {i}/60 | loss {3 - i / 30}\n" for i in range(51, 61)))
    while "the run came to its last step; it is followed on until Ctrl-C" not in printed:
        printed += (line := process.stdout.readline())
        assert line, "the watch ended: " + printed
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("place", "said"),
    [("http://a:b@host/x", "no heartbeat can go to http://host/x"), ("redis://h:x/0", "no address")],
)
def test_a_heartbeat_that_is_nowhere_is_refused(
    hrmdoc: Command, healthy: Path, place: str, said: str
) -> None:
    for words in (("watch", "--once", healthy), ("run", "--", "true")):
        done = hrmdoc(words[0], "--heartbeat", place, *words[1:])
        assert (done.status, said in done.err) == (2, True), done.err


def test_a_heartbeat_that_is_old_is_found_beside_a_log_of_its_own(
    spawn: Command, apart: Path, healthy: Path
) -> None:
    beat = apart / "elsewhere" / "heartbeat.json"
    beat.parent.mkdir()
    beat.write_text('{"step": 1, "state": "running"}')
    aged(beat, 300)
    done = spawn("watch", "--once", "--heartbeat", beat.parent, healthy)
    assert "opened   heartbeat-lapsed" in done.out
    beat.write_text('{"step": 1, "state": "finished"}')
    aged(beat, 300)
    done = spawn("watch", "--once", "--no-state", healthy, HRMDOC_HEARTBEAT=str(beat))
    assert "opened   heartbeat-lapsed" not in done.out


def test_a_command_that_is_run_finds_where_to_say_that_it_lives(spawn: Command, apart: Path) -> None:
    script = "import hrmdoc; hrmdoc.heartbeat().close()"
    done = spawn("run", "--log", "o.log", "--heartbeat", apart / "beats", "--", sys.executable, "-c", script)
    assert done.status == 0, done.err
    assert json.loads((apart / "beats" / "heartbeat.json").read_text())["state"] == "finished"


def test_a_link_that_leads_to_itself_is_wrong_input(hrmdoc: Command, apart: Path) -> None:
    (apart / "round").symlink_to("round")
    for words in (("watch", "--once", "round"), ("preflight", "round")):
        done = hrmdoc(*words)
        assert done.status == 2
        assert "round" in done.out + done.err
        assert "fault of hrmdoc" not in done.err
