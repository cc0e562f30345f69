"""`hrmdoc run` in a terminal: the command has one too, and its log is complete all the same."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hrmdoc.supervision import relay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the size is handed on by Linux's /proc")

PROGRAM = """
import os, sys, time
print("terminal", sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size(1), flush=True)
until = time.time() + 60
while not os.path.exists("go") and time.time() < until:
    time.sleep(0.02)
print("then", *os.get_terminal_size(1), flush=True)
for step in range(500):
    sys.stderr.write(f"\\r{step * 100 // 500:3d}%|##   |")
    print(f"step {step} | loss {3 - step / 500:.4f}")
sys.exit(int(os.environ.get("FAILS", "0")) and int(os.environ["HRMDOC_ATTEMPT"] == "1"))
"""


class Terminal:
    """`hrmdoc run` in a terminal of 100 columns."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        (folder / "train.py").write_text(PROGRAM)
        words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", "--measure", "0", *options, "--"]
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(variables)
            termios.tcsetwinsize(1, (40, 100))
            os.execv(sys.executable, [*words, sys.executable, "train.py"])
        self.shown = b""

    def read(self, until: Callable[[], object], seconds: float = 60.0) -> None:
        """Shows what comes until something holds, or the supervisor has ended."""
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, self.shown.decode(errors="replace")
            if select.select([self.handle], [], [], 0.05)[0]:
                try:
                    self.shown += os.read(self.handle, 1 << 16)
                except OSError:
                    return

    def wait(self) -> int:
        self.read(lambda: False)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def text(folder: Path, name: str = "o.log") -> str:
    path = folder / name
    return path.read_bytes().decode() if path.exists() else ""


def test_the_command_sees_a_terminal_and_its_size_and_the_log_is_whole(folder: Path) -> None:
    terminal = Terminal(folder)
    terminal.read(lambda: "terminal" in text(folder))
    termios.tcsetwinsize(terminal.handle, (50, 77))
    os.kill(terminal.pid, signal.SIGWINCH)
    time.sleep(0.3)
    (folder / "go").touch()
    assert terminal.wait() == 0
    log = text(folder)
    assert log.startswith("terminal True True 100 40\nthen 77 50\n"), "line ends stay as they are"
    assert log.count("| loss ") == 500
    assert log.count("%|##") == 500
    assert b"step 499 | loss 2.0020" in terminal.shown


def test_where_output_is_redirected_the_command_sees_none(folder: Path) -> None:
    (folder / "train.py").write_text("import sys; print(sys.stdout.isatty())")
    words = [sys.executable, "-m", "hrmdoc", "run", "--log", "o.log", "--", sys.executable, "train.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == text(folder) == "False\n"


def test_the_command_outlives_its_supervisor_and_is_found_again(folder: Path) -> None:
    first = Terminal(folder, "--restart", "1", "--backoff", "0")
    first.read(lambda: "terminal" in text(folder))
    os.kill(first.pid, signal.SIGKILL)
    os.waitpid(first.pid, 0)
    os.close(first.handle)
    (folder / "go").touch()
    for _ in range(400):
        if "step 499" in text(folder):
            break
        time.sleep(0.05)
    assert Terminal(folder, "--restart", "1", "--backoff", "0").wait() == 0
    assert text(folder).count("| loss ") == 500
    state = json.loads((folder / "o.log.hrmdoc" / "state.json").read_text())
    assert [one["status"] for one in state["attempts"]] == [0]


def test_each_attempt_has_a_terminal_of_its_own(folder: Path) -> None:
    (folder / "go").touch()
    terminal = Terminal(folder, "--restart", "1", "--backoff", "0", FAILS="1")
    assert terminal.wait() == 0
    for name in ("o.log", "o-2.log"):
        assert text(folder, name).startswith("terminal True True 100 40\n")
        assert text(folder, name).count("| loss ") == 500


def test_a_full_disk_ends_no_command_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-I", "-S", str(relay.__file__)]
    with open("/dev/full", "wb") as disk:
        done = subprocess.run(program, input=b"x" * 300_000, stdout=disk, check=False)
    assert done.returncode == 0
    full = [1, 2, 3]
    blocks, log = iter([b"kept\n", b"lost\n", b"lost too\n", b"and lost\n", b"again\n", b""]), []

    def write(_: int, block: bytes) -> int:
        if b"lost" in block and len(log) < 2 and full:
            full.pop()
            raise OSError(28, "No space left on device")
        log.append(block)
        return len(block)

    monkeypatch.setattr(relay, "_read", lambda: next(blocks))
    monkeypatch.setattr(relay.os, "write", write)
    monkeypatch.setattr(relay.signal, "signal", lambda *_: None)
    relay.main()
    assert b"".join(log) == b"kept\n\n[hrmdoc: 23 bytes found no room and are lost]\nagain\n"
