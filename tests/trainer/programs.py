"""Programs of several processes for the tests, and what they leave when they fail or do not end."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

GRACE_S = 30  # for writing the stacks


def launch(command: list[str], run: Path, timeout_s: float) -> tuple[int | None, str]:
    """Executes `command`, which trains in `run`: its exit status, None if it had to be ended, and all that it
    left to read.

    A program that does not end in time is aborted, every process of it, which makes Python write the stack of
    each thread.
    """
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1", "TORCH_SHOW_CPP_STACKTRACES": "1"}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    status: int | None = None
    try:
        written = program.communicate(timeout=timeout_s)[0]
        status = program.returncode
    except subprocess.TimeoutExpired:
        for number in [child.pid for child in psutil.Process(program.pid).children(recursive=True)] + [
            program.pid
        ]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGABRT)
        written = program.communicate(timeout=GRACE_S)[0]
    logs = [
        file.read_text()
        for name in ("train.log", "rank*.log", "events.jsonl")
        for file in sorted(run.glob(name))
    ]
    return status, "\n".join((f"exit status {status}", written, *logs))
