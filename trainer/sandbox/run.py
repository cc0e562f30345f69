"""Starts the sandbox's child, waits for its report within bounds, and leaves nothing of it behind."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from .confine import GUARDS

CHILD = Path(__file__).with_name("child.py")
REPORT_BYTES = 65_536  # far more than a report has; what is longer is none
WALL_PER_CPU = 6  # by the clock a program gets so many times its CPU seconds: a busy machine is not its fault

REPORTED = ("passed", "failed", "error")
Status = Literal["passed", "failed", "error", "timeout", "died"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: CPU seconds and MiB of memory."""

    cpu_s: int = 10
    memory_mib: int = 512


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a program went.

    status: 'passed' all its tests; 'failed' an assertion; 'error' raised something else or left early;
        'timeout' by the clock; 'died' without a report, such as by a limit. detail: the assertion, the error
        or the signal. guards: what held it.
    """

    status: Status
    detail: str
    guards: tuple[str, ...] = ()


def run(code: str, setup: str, tests: Sequence[str], limits: Limits | None = None) -> Verdict:
    """Runs `code`, then `setup`, which may need it, and then each of `tests` in one fresh interpreter,
    confined (see `confine`).

    The interpreter sees no environment, no site packages, an empty folder, and no input. Its hash seed is
    fixed, so that the order of a set is the same every time.

    Raises:
        ValueError: there are no tests, which any program would pass.
    """
    if not tests:
        raise ValueError("a program without tests cannot pass")
    limits = limits or Limits()
    word = secrets.token_hex(16)
    job = {
        "code": code,
        "setup": setup,
        "tests": list(tests),
        "word": word,
        "cpu_s": limits.cpu_s,
        "memory_bytes": limits.memory_mib << 20,
        "parent": os.getpid(),
    }
    with tempfile.TemporaryDirectory(prefix="hrmdoc-") as folder, tempfile.TemporaryFile() as given:
        given.write(json.dumps(job).encode())
        given.seek(0)
        # -P -s -S with an environment of our own is what -I -S is, but for the hash seed, which -I would
        # ignore.
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", str(CHILD)],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={"PYTHONHASHSEED": "0"},
            start_new_session=True,
        )
        try:
            said, in_time = _listen(process, time.monotonic() + limits.cpu_s * WALL_PER_CPU)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    return _verdict(said, word, in_time, process.returncode)


def _listen(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """What the child reports until it ends, and whether it ended before the deadline. What is too long for a
    report ends it."""
    assert process.stdout is not None
    said, pipe = b"", process.stdout.fileno()
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN | select.POLLHUP)
    while (left := deadline - time.monotonic()) > 0:
        if not waiting.poll(left * 1000):
            return said, False
        part = os.read(pipe, REPORT_BYTES)
        if not part:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
                return said, True
            return said, False
        said += part
        if len(said) > REPORT_BYTES:
            return b"", True
    return said, False


def _verdict(said: bytes, word: str, in_time: bool, returncode: int) -> Verdict:
    if not in_time:
        return Verdict("timeout", "no end in time")
    try:
        report: Any = json.loads(said)
    except (ValueError, RecursionError):
        report = None
    if not _is_report(report, word):
        if returncode < 0:
            return Verdict("died", f"killed by {signal.Signals(-returncode).name}")
        return Verdict("died", f"left with status {returncode} before the tests were through")
    return Verdict(report["status"], report["detail"], tuple(report["guards"]))


def _is_report(found: Any, word: str) -> bool:
    """Whether this is what the child writes: a program that finds the word may write what it likes."""
    if not isinstance(found, dict) or found.get("word") != word:
        return False
    status, detail, guards = (found.get(key) for key in ("status", "detail", "guards"))
    known = isinstance(guards, list) and all(guard in GUARDS for guard in guards)
    return status in REPORTED and isinstance(detail, str) and known


@cache
def self_test(limits: Limits = Limits()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The guards that hold on this machine, and those that are missing.

    Raises:
        RuntimeError: the sandbox does not work: a program that does nothing fails in it, or one that is wrong
            passes.
    """
    right, wrong = run("x = 1", "", ["assert x == 1"], limits), run("x = 1", "", ["assert x == 2"], limits)
    if right.status != "passed" or wrong.status != "failed":
        raise RuntimeError(
            f"the sandbox does not work here: {right.status} {right.detail}; "
            f"{wrong.status} {wrong.detail}".strip()
        )
    return right.guards, tuple(name for name in GUARDS if name not in right.guards)
