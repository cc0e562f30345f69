"""Supervises any training command: its output is kept and examined while it runs, and a run that is lost is
stopped by policy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hrmdoc.analysis import Analysis
from hrmdoc.errors import UsageError
from hrmdoc.live.incidents import Incident
from hrmdoc.live.watch import Watch

GRACE_S = 30.0
"""Seconds between SIGTERM and SIGKILL: time to write a checkpoint."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a supervised command ended. `stopped_by`: the incident for which it was stopped, if it was."""

    status: int
    analysis: Analysis
    stopped_by: Incident | None = None


def supervise(
    command: Sequence[str],
    log: Path,
    *,
    stop_on: str | None = None,
    tell: Callable[[Incident], None] = lambda _: None,
) -> Outcome:
    """Runs `command`, passes its output on, writes it to `log`, and watches that.

    Args:
        stop_on: stop the command at the first incident of this severity (`critical`, or `warning` and above).
        tell: called with every incident.

    Raises:
        UsageError: the command cannot be started, or the log cannot be written.
    """
    try:
        file = log.open("ab")
    except OSError as error:
        raise UsageError(f"the log cannot be written: {error.strerror}", file=log) from error
    with file:
        try:
            process = _started(command)
        except UsageError:
            if not log.stat().st_size:
                log.unlink()
            raise
        assert process.stdout is not None
        copier = threading.Thread(target=_copy, args=(process.stdout, file), daemon=True)
        copier.start()
        return _watch(process, copier, log, stop_on, tell)


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    try:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"cannot start {command[0]!r}: {error.strerror}") from error


def _copy(source: BinaryIO, file: BinaryIO) -> None:
    """Passes output on as it comes, to our own stdout and to the log; a closed pipe or full disk never holds
    the command up."""
    targets = [file, sys.stdout.buffer]
    while block := source.read(1 << 16):
        for target in tuple(targets):
            try:
                target.write(block)
                target.flush()
            except OSError:
                targets.remove(target)


def _watch(
    process: subprocess.Popen[bytes],
    copier: threading.Thread,
    log: Path,
    stop_on: str | None,
    tell: Callable[[Incident], None],
) -> Outcome:
    watch = Watch(str(log), remember=False)
    ended = threading.Thread(target=_wait, args=(process, copier, watch), daemon=True)
    ended.start()
    previous = [
        signal.signal(name, lambda number, _: _pass_on(process, number))
        for name in (signal.SIGINT, signal.SIGTERM)
    ]
    guilty: Incident | None = None
    analysis: Analysis | None = None
    try:
        for look in watch.looks():
            analysis = look.analysis
            for incident in look.changes:
                tell(incident)
                if (
                    guilty is None
                    and process.poll() is None
                    and incident.is_open
                    and _severe(incident, stop_on)
                ):
                    guilty = incident
                    _stop(process)
    finally:
        for name, handler in zip((signal.SIGINT, signal.SIGTERM), previous, strict=True):
            signal.signal(name, handler)
    ended.join()
    assert analysis is not None
    return Outcome(process.returncode, analysis, guilty)


def _wait(process: subprocess.Popen[bytes], copier: threading.Thread, watch: Watch) -> None:
    process.wait()
    copier.join(timeout=5)
    watch.stop(ended=True)


def _severe(incident: Incident, stop_on: str | None) -> bool:
    return stop_on is not None and (
        incident.severity == "critical" or stop_on == incident.severity == "warning"
    )


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        os.killpg(process.pid, number)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the command's process group; SIGKILL when it has not ended after the grace time."""
    _pass_on(process, signal.SIGTERM)

    def kill() -> None:
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            _pass_on(process, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
