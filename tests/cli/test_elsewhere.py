"""The commands that only read, on a machine without what POSIX systems alone have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reports.runs_of import write_run

WITHOUT = """
import sys
import psutil  # of this system, so it needs what this system has
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
import os, signal
from multiprocessing import reduction
reduction.HAVE_SEND_HANDLE = False  # no server that forks
for name in (
    "getuid geteuid getgid getegid fork mkfifo fchmod fchown chown lchown killpg getpgid setsid sysconf "
    "O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY sched_getaffinity pwrite pread getloadavg nice"
).split():
    delattr(os, name)
for name in (
    "SIGALRM setitimer ITIMER_REAL alarm SIGHUP SIGUSR1 SIGUSR2 SIGPIPE SIGQUIT SIGTSTP SIGWINCH"
).split():
    delattr(signal, name)
"""


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Runs, a config, and a start of Python that blocks the modules, in every process that is started."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(WITHOUT)
    write_run(tmp_path / "runs" / "sick", lr=0.8, sick_from=200)
    write_run(tmp_path / "runs" / "healthy")
    return tmp_path


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "blocked"), str(Path(__file__).parents[2])]),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_modules_are_really_away(there: Path) -> None:
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
        assert "ModuleNotFoundError" in ran(there, "-c", f"import {name}").stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("analyze", "runs/sick"), 1, "CRITICAL"),
        (("series", "runs/sick"), 0, "learning_rate"),
        (("explain", "loss-nonfinite"), 0, "loss-nonfinite"),
        (("triage", "runs"), 1, "sick"),
        (("triage", "runs", "--jobs", "2"), 1, "sick"),
        (("report", "runs/sick", "-o", "one.html"), 0, ""),
        (("report", "runs", "-o", "many.html"), 0, ""),
        (("preflight", "runs/sick/config.yaml"), 0, ""),
        (("watch", "runs/sick", "--once"), 1, ""),
        (("watch", "runs", "--all", "--once"), 1, ""),
        (("analyze", "runs/sick", "runs/healthy"), 1, "sick"),
        (("analyze", "runs/sick", "--json"), 1, "hrmdoc.diagnosis/1"),
        (("verdict", "runs/sick"), 12, ""),
        (("compare", "runs/sick", "runs/healthy"), 0, ""),
        (("apply", "runs/sick"), 0, "learning_rate: 0.0025"),
        (("apply", "runs/sick", "--write"), 0, ""),
        (("log", "runs/sick"), 0, ""),
        (("bundle", "runs/sick", "-o", "bundle.zip"), 0, ""),
        (("formats",), 0, "csv"),
        (("rules", "check"), 0, ""),
        (("rules", "new", "mine", "--role", "train.loss", "--in", "own"), 0, ""),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_what_reads_works_without_them(there: Path, words: tuple[str, ...], status: int, says: str) -> None:
    done = ran(there, "-m", "hrmdoc", *words)
    assert (done.returncode, "a fault of hrmdoc" in done.stderr) == (status, False), done.stderr
    assert says in done.stdout
    if words[0] == "report":
        assert "loss-nonfinite" in (there / words[-1]).read_text("utf-8")


def test_a_run_that_takes_too_long_is_ended_and_said_so_without_a_timer_of_signals(there: Path) -> None:
    code = """
import time
from hrmdoc import systems

if __name__ == "__main__":
    systems.end_after(60.0)
    systems.end_after(0.0)
    systems.end_after(0.2)
    while True:
        pass
"""
    assert ran(there, "-c", code).returncode == 1


def test_runs_are_served_without_them(there: Path) -> None:
    code = """
import asyncio, sys
from hrmdoc.web.board import Board
from hrmdoc.web.roots import Roots
from hrmdoc.web.workers import Workers

async def look(board):
    while not board.entries or board.waiting:
        await board.step()
        await asyncio.sleep(0.1)

if __name__ == "__main__":
    workers = Workers(1)
    board = Board(Roots.of(["runs"]), workers)
    asyncio.run(look(board))
    print(*[(one.name, one.row.verdict, one.row.fault and one.row.said) for one in board.ranked()])
    workers.close()
"""
    (there / "served.py").write_text(code)
    assert (
        ran(there, "served.py").stdout.strip() == "('sick', 'critical', False) ('healthy', 'healthy', False)"
    )
