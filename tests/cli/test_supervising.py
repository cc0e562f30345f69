"""`hrmdoc run` and `hrmdoc watch`, as users meet them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
PRINTS = (
    "import sys\nfor i in range(40): print({'loss': 2.0 if i < 20 else float('nan'), 'epoch': i}, "
    "flush=True)\n"
)


def test_a_supervised_command_keeps_its_output_and_exit_status(spawn: Command, apart: Path) -> None:
    done = spawn("run", "--log", "o.log", "--", sys.executable, "-c", PRINTS + "sys.exit(7)")
    assert done.status == 7
    assert done.out.count("loss") == 40
    assert (apart / "o.log").read_text() == done.out
    assert "loss-nonfinite" in done.err
    assert "the command ended with exit status 7" in done.err


def test_a_supervised_command_is_stopped_when_it_is_lost(spawn: Command) -> None:
    endless = PRINTS + "import time\nwhile True: time.sleep(0.1)"
    done = spawn("run", "--log", "o.log", "--stop-on", "critical", "--", sys.executable, "-c", endless)
    assert done.status == 1
    assert "stopped for loss-nonfinite" in done.err


def test_a_command_that_cannot_start_leaves_no_log(hrmdoc: Command, apart: Path) -> None:
    assert hrmdoc("run", "--log", "o.log", "--", "no-such-command").status == 2
    assert not (apart / "o.log").exists()


@pytest.mark.parametrize("words", [("watch", "--act", "a.log"), ("run", "--act", "--", "true", "a.yaml")])
def test_acting_needs_a_policy_that_allows_something(
    hrmdoc: Command, apart: Path, words: tuple[str, ...]
) -> None:
    (apart / "a.log").write_text("step 1 | loss 2.0\n")
    (apart / "a.yaml").write_text("learning_rate: 2e-5\n")
    done = hrmdoc(*words)
    assert done.status == 2
    assert "policy.auto is empty" in done.err


def test_acting_needs_a_config_to_patch(hrmdoc: Command, apart: Path) -> None:
    (apart / "hrmdoc.toml").write_text('[policy]\nauto = ["safe"]\n')
    assert hrmdoc("trust").status == 0
    done = hrmdoc("run", "--act", "--", "true")
    assert done.status == 2
    assert "the command names none" in done.err


def test_a_watch_that_may_act_says_what_it_did(hrmdoc: Command, apart: Path, sick: Path) -> None:
    (apart / "hrmdoc.toml").write_text('[policy]\nauto = ["safe", "guarded"]\n')
    assert hrmdoc("trust").status == 0
    folder = apart / "live"
    folder.mkdir()
    (folder / "run.json").write_text('{"schema": "hrmdoc.run/1", "state": "stopped"}')
    (folder / "train.log").write_bytes(sick.read_bytes())
    done = hrmdoc("watch", "--once", "--act", folder)
    assert "failed" in done.out
    assert "roll-back" in done.out
    assert "the run is stopped, not running" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "nothing of what shows has a remedy"), (("--remedy", "roll-bak"), "did you mean 'roll-back'?")],
)
def test_an_action_is_sent_only_where_one_fits(
    hrmdoc: Command, healthy: Path, words: tuple[str, ...], said: str
) -> None:
    done = hrmdoc("apply", healthy, "--live", *words)
    assert done.status == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("number", "words", "status"),
    [("INT", (), 130), ("TERM", (), 1), ("TERM", ("--fail-on", "never"), 0), ("TERM", ("--all",), 1)],
)
def test_a_signal_ends_a_watch_with_a_summary_and_sigterm_with_what_is_open(
    sick: Path, number: str, words: tuple[str, ...], status: int
) -> None:
    path = sick.parent if "--all" in words else sick
    process = subprocess.Popen(
        [sys.executable, "-m", "hrmdoc", "watch", *words, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "loss-nonfinite" in line:
            break
    subprocess.run(["kill", f"-{number}", str(process.pid)], check=True)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (status, "")
    assert "--all" in words or "✗ CRITICAL" in out


def test_watch_once_looks_once(hrmdoc: Command, sick: Path) -> None:
    done = hrmdoc("watch", "--once", sick)
    assert done.status == 1
    assert "loss-nonfinite" in done.out
    assert hrmdoc("watch", "--once", "nowhere").status == 2


def test_what_is_piped_in_is_watched_and_kept(spawn: Command, apart: Path, sick: Path) -> None:
    done = spawn("watch", "-", stdin=sick.read_bytes())
    assert done.status == 1
    assert "✗ opened   loss-nonfinite" in done.out
    assert "✗ CRITICAL" in done.out
    (kept,) = apart.glob("hrmdoc-watch-*.log")
    assert kept.read_bytes() == sick.read_bytes()


def test_a_watch_of_a_pipe_in_which_nothing_comes_ends_with_it(spawn: Command) -> None:
    done = spawn("watch", "-")
    assert done.status == 2
    assert "NO DATA" in done.out


@pytest.mark.parametrize("command", ["analyze", "watch"])
def test_a_closed_standard_input_is_said(apart: Path, command: str) -> None:
    words = ["sh", "-c", f'exec "{sys.executable}" -m hrmdoc {command} - <&-']
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "standard input is closed" in done.stdout + done.stderr
    assert "fault of hrmdoc itself" not in done.stderr
    assert not list(apart.iterdir())


def test_a_terminal_is_no_pipe(apart: Path) -> None:
    terminal, ours = pty.openpty()
    command = [sys.executable, "-m", "hrmdoc", "watch", "-"]
    done = subprocess.run(command, stdin=ours, capture_output=True, text=True, timeout=120, check=False)
    os.close(terminal)
    os.close(ours)
    assert done.returncode == 2
    assert "wants a log piped into it" in done.stderr
    assert not list(apart.iterdir())
