"""Supervises any training command: its output is kept and examined while it runs, and a run that is lost is
stopped by policy.

The command writes into the log file itself and lives in a session of its own; what is shown is read from the
file. So nothing that ends the supervisor (a kill, a lost terminal, a fault of its own) ends the training.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hrmdoc.analysis import Analysis
from hrmdoc.errors import UsageError
from hrmdoc.live.incidents import Incident
from hrmdoc.live.tail import Tail
from hrmdoc.live.watch import Observer, Watch
from hrmdoc.rulebook import Rulebook
from hrmdoc.settings import Settings

LITTLE = 100 << 20
GRACE_S = 30.0
"""Seconds between SIGTERM and SIGKILL: time to write a checkpoint."""
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""What is asked of the supervisor is meant for the command; a hang-up is not, since the command needs no
terminal."""


@dataclass(frozen=True, slots=True)
class StopPolicy:
    """When to stop the command: at the first incident of this severity (`critical`, or `warning` and above),
    never where it is None. A silent run may evaluate or save: it is stopped only where `on_silence` says
    so."""

    severity: str | None = None
    on_silence: bool = False

    def asks(self, incident: Incident, book: Rulebook) -> bool:
        """Whether the command is to be stopped for this incident."""
        severe = incident.severity == "critical" or self.severity == incident.severity == "warning"
        if self.severity is None or not incident.is_open or not severe:
            return False
        rule = book.symptoms.get(incident.symptom)
        silence = rule is not None and any(part.silence is not None for part in rule.when.walk())
        return self.on_silence or not silence


NEVER = StopPolicy()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a supervised command ended.

    Attributes:
        status: as `subprocess` gives it: negative where a signal ended the command.
        logs: the files that hold its output.
        stopped_by: the incident for which it was stopped, if it was.
    """

    status: int
    analysis: Analysis
    logs: tuple[Path, ...]
    stopped_by: Incident | None = None


def supervise(
    command: Sequence[str],
    log: Path,
    *,
    stop: StopPolicy = NEVER,
    settings: Settings | None = None,
    report: Callable[[Incident], None] = lambda _: None,
    observe: Observer = lambda *_: None,
) -> Outcome:
    """Runs `command`, which writes to `log`, and watches that; what it writes is passed on as it comes.

    Where our own standard output and error go to different places, those of the command are kept apart too:
    the latter in `<name>.stderr<suffix>` beside the log.

    Args:
        stop: when to stop the command.
        report: called with every incident.
        observe: called with every look of the watch.

    Raises:
        ConfigError, RuleError: the settings or rules are wrong; the command was not started.
        UsageError: the command cannot be started, or the log cannot be written.
    """
    logs = (log,) if _one_place() else (log, log.with_name(f"{log.stem}.stderr{log.suffix}"))
    _check_room(log)
    with _opened(logs) as files:
        tails = [
            Tail(path, stream)
            for path, stream in zip(logs, (sys.stdout.buffer, sys.stderr.buffer), strict=False)
        ]
        watch = Watch(*map(str, logs), remember=False, settings=settings)
        process = _started(command, files)
    return _watched(process, tails, watch, logs, stop, report, observe)


def _one_place() -> bool:
    """Whether our standard output and error are the same terminal, file or pipe."""
    try:
        out, err = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return True
    return (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)


def _check_room(log: Path) -> None:
    """Says where the command's output may soon find no room: it would fail for it."""
    with suppress(OSError):
        if (free := shutil.disk_usage(log.absolute().parent).free) < LITTLE:
            place = log.absolute().parent
            print(f"hrmdoc: only {free >> 20} MB are free in {place} for the output", file=sys.stderr)  # noqa: T201


@contextmanager
def _opened(logs: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    """The logs, to be written behind what they hold; those that stay empty because the command did not start
    are removed."""
    files: list[BinaryIO] = []
    try:
        for log in logs:
            if log.exists() and not log.is_file():
                raise UsageError("the log must be a file, which can be followed", file=log)
            files.append(log.open("ab", buffering=0))
    except OSError as error:
        raise UsageError(f"the log cannot be written: {error.strerror}", file=log) from error
    try:
        yield files
    except BaseException:
        for log in logs:
            with suppress(OSError):
                if not log.stat().st_size:
                    log.unlink()
        raise
    finally:
        for file in files:
            file.close()


def _started(command: Sequence[str], files: Sequence[BinaryIO]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    try:
        return subprocess.Popen(
            command, stdout=files[0], stderr=files[-1], env=environment, start_new_session=True
        )
    except OSError as error:
        raise UsageError(f"cannot start {command[0]!r}: {error.strerror}") from error


def _watched(
    process: subprocess.Popen[bytes],
    tails: Sequence[Tail],
    watch: Watch,
    logs: tuple[Path, ...],
    stop: StopPolicy,
    report: Callable[[Incident], None],
    observe: Observer,
) -> Outcome:
    for tail in tails:
        tail.start()
    ended = threading.Thread(target=_wait, args=(process, tails, watch), daemon=True)
    ended.start()
    guilty: Incident | None = None
    analysis: Analysis | None = None
    with _signals_for(process):
        for look in watch.looks():
            analysis = look.analysis
            observe(watch, look)
            for incident in look.changes:
                report(incident)
                if guilty is None and process.poll() is None and stop.asks(incident, analysis.book):
                    guilty = incident
                    _stop(process)
    ended.join()
    assert analysis is not None
    return Outcome(process.returncode, analysis, logs, guilty)


def _wait(process: subprocess.Popen[bytes], tails: Sequence[Tail], watch: Watch) -> None:
    process.wait()
    for tail in tails:
        tail.finish()
    watch.stop(ended=True)


@contextmanager
def _signals_for(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Passes signals on to the command, and outlives a lost terminal as it does."""
    previous = {name: signal.signal(name, lambda number, _: _pass_on(process, number)) for name in PASSED_ON}
    previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
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
