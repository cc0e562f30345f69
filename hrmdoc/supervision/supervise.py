"""Supervises any training command: its output is kept and examined while it runs, and a run that is lost is
stopped by policy.

The command writes into the log file itself and lives in a session of its own; what is shown is read from the
file. So nothing that ends the supervisor (a kill, a lost terminal, a fault of its own) ends the training.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hrmdoc.analysis import Analysis
from hrmdoc.errors import UsageError
from hrmdoc.live.incidents import Incident
from hrmdoc.live.tail import Tail
from hrmdoc.live.watch import Observer, Watch
from hrmdoc.record.records import Fact, Line
from hrmdoc.rulebook import Rulebook
from hrmdoc.settings import Settings
from hrmdoc.supervision.child import Child, oom_kills
from hrmdoc.supervision.ending import keep, note_stop, told
from hrmdoc.supervision.place import Room, no_link, where_there_is_room
from hrmdoc.supervision.signals import Signals

GRACE_S = 30.0
"""Seconds between SIGTERM and SIGKILL: time to write a checkpoint."""
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class StopPolicy:
    """When to stop the command: at the first incident of this severity (`critical`, or `warning` and above),
    never where it is None. A silent run may evaluate or save: it is stopped only where `on_silence` says
    so. At a symptom of `again` it is stopped to be started again."""

    severity: str | None = None
    on_silence: bool = False
    again: frozenset[str] = frozenset()

    def asks(self, incident: Incident, book: Rulebook) -> bool:
        """Whether the command is to be stopped for this incident."""
        if incident.is_open and incident.symptom in self.again:
            return True
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
        hung: it was ended because it stood still.
        seen: whether anybody saw how it ended; where not, `status` is what its log makes probable.
    """

    status: int
    analysis: Analysis
    logs: tuple[Path, ...]
    stopped_by: Incident | None = None
    hung: bool = False
    seen: bool = True


@dataclass(frozen=True, slots=True)
class Silence:
    """When a command stands still: its logs and the files by which it shows that it lives did not change
    for so many seconds of a clock that nobody sets. Points and steps do not count, so that a long
    evaluation that says a word now and then is none.
    """

    seconds: float
    beats: tuple[Path, ...] = ()


def supervise(
    command: Sequence[str],
    log: Path,
    *,
    stop: StopPolicy = NEVER,
    settings: Settings | None = None,
    report: Callable[[Incident], None] = lambda _: None,
    observe: Observer = lambda *_: None,
    silence: Silence | None = None,
    grace: float = GRACE_S,
    begin: Callable[[Sequence[BinaryIO]], Child] | None = None,
    signals: Signals | None = None,
    measure: float | None = None,
) -> Outcome:
    """Runs `command`, which writes to `log`, and watches that; what it writes is passed on as it comes.

    Where our own standard output and error go to different places, those of the command are kept apart too:
    the latter in `<name>.stderr<suffix>` beside the log.

    Args:
        stop: when to stop the command.
        report: called with every incident.
        observe: called with every update of the watch.
        silence: when it is ended because it stands still; None: never.
        grace: seconds between SIGTERM and SIGKILL where it is stopped.
        measure: seconds between two samples of the machine; None: it is not measured.
        begin: starts the command with the files for its output, or finds it again.
        signals: who notes the signals, where somebody does already.

    Raises:
        ConfigError, RuleError: the settings or rules are wrong; the command was not started.
        UsageError: the command cannot be started, or the log cannot be written.
    """
    log = where_there_is_room(log)
    logs = (log,) if _one_place() else (log, errors_beside(log))
    with _opened(logs) as files:
        tails = [
            Tail(path, stream)
            for path, stream in zip(logs, (sys.stdout.buffer, sys.stderr.buffer), strict=False)
        ]
        started: list[Child] = []
        watch = Watch(
            *map(str, logs),
            remember=False,
            settings=settings,
            measure=measure,
            pid=lambda: (started[0].pid or None) if started else None,
        )
        child = Child.start(command, files) if begin is None else begin(files)
        started.append(child)
    care = _Care(child, tails, watch, silence, grace)
    with nullcontext(signals) if signals is not None else Signals() as noted:
        noted.child = child
        try:
            return _watched(care, logs, stop, report, observe)
        finally:
            noted.child = None


def errors_beside(log: Path) -> Path:
    """The log of what a command writes to standard error, where that is kept apart."""
    return log.with_name(f"{log.stem}.stderr{log.suffix}")


def _one_place() -> bool:
    """Whether our standard output and error are the same terminal, file or pipe."""
    try:
        out, err = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return True
    return (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)


@contextmanager
def _opened(logs: Sequence[Path]) -> Iterator[list[BinaryIO]]:
    """The logs, to be written behind what they hold; those that stay empty because the command did not start
    are removed."""
    files: list[BinaryIO] = []
    try:
        for log in logs:
            if log.is_symlink():
                hint = f"name the file itself: {os.path.realpath(log)}"
                raise UsageError("the log is a link, which is not followed on writing", file=log, hint=hint)
            if log.exists() and not log.is_file():
                raise UsageError("the log must be a file, which can be followed", file=log)
            files.append(open(log, "ab", buffering=0, opener=no_link))  # noqa: SIM115 (closed below)
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


@dataclass(slots=True)
class _Care:
    """A command, and what is done for it beside the watch."""

    child: Child
    tails: Sequence[Tail]
    watch: Watch
    silence: Silence | None
    grace: float
    hung: bool = False
    stopped: bool = False

    def mind(self, logs: Sequence[Path]) -> None:
        """Returns once the command has ended; ends it where it stands still."""
        quiet = _Quiet([*logs, *self.silence.beats]) if self.silence is not None else None
        before, room = oom_kills(), Room(Path(self.watch.path))
        while not self.child.wait(POLL_S):
            self.watch.note(room.news(self.watch.session.run))
            if quiet is None or self.silence is None:
                continue
            if min(quiet.seconds(), self.watch.unbeaten()) >= self.silence.seconds:
                self.hung = True
                self.child.end(self.grace)
        self.child.settle()
        for tail in self.tails:
            tail.finish()
        full = room.news(self.watch.session.run)
        self.watch.stop(
            ended=True, known=[*_memory(self.child.status, before, oom_kills()), *full, *self.told()]
        )

    def told(self) -> list[Line]:
        """What the diagnosis is told of its end; nothing where an incident stopped it, which says it."""
        if self.stopped:
            return []
        return told(self.child.status, self.silence.seconds if self.hung and self.silence else None)

    def stop(self) -> None:
        """SIGTERM to the command's group; SIGKILL when it has not ended after the grace time."""
        self.stopped = True
        threading.Thread(target=self.child.end, args=(self.grace,), daemon=True).start()


def _memory(status: int | None, before: int | None, after: int | None) -> list[Fact]:
    """Of a command that was killed, whether the kernel ended processes for want of memory while it ran."""
    if status != -signal.SIGKILL or before is None or after is None:
        return []
    return [Fact("host.oom_kills", after - before, "run", "")]


class _Quiet:
    """For how long none of some files has changed."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files, self._seen, self._since = files, self._look(files), time.monotonic()

    def seconds(self) -> float:
        now = self._look(self._files)
        if now != self._seen:
            self._seen, self._since = now, time.monotonic()
        return time.monotonic() - self._since

    @staticmethod
    def _look(files: Sequence[Path]) -> list[tuple[int, int] | None]:
        seen: list[tuple[int, int] | None] = []
        for file in files:
            try:
                status = file.stat()
                seen.append((status.st_size, status.st_mtime_ns))
            except OSError:
                seen.append(None)
        return seen


def _watched(
    care: _Care,
    logs: tuple[Path, ...],
    stop: StopPolicy,
    report: Callable[[Incident], None],
    observe: Observer,
) -> Outcome:
    for tail in care.tails:
        tail.start()
    ended = threading.Thread(target=care.mind, args=(logs,), daemon=True)
    ended.start()
    guilty: Incident | None = None
    analysis: Analysis | None = None
    for update in care.watch.updates():
        analysis = update.analysis
        observe(care.watch, update)
        for incident in update.changes:
            report(incident)
            if guilty is None and care.child.poll() and stop.asks(incident, analysis.book):
                guilty = incident
                care.stop()
    ended.join()
    assert analysis is not None
    status = care.child.status
    if guilty is not None:
        note_stop(logs[0], guilty, time.time())
    if status is not None:
        keep(logs[0], status if guilty is None else 1)  # what is stopped did not end by itself, and failed
    probable = 0 if analysis.state == "finished" else 1
    return Outcome(
        probable if status is None else status, analysis, logs, guilty, care.hung, status is not None
    )
