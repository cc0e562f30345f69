"""A supervised command as a process: started in a session of its own, or found again by a supervisor that
came later; and the end of it with all that it started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psutil

from hrmdoc.errors import UsageError
from hrmdoc.paths import read_kept
from hrmdoc.supervision.terminal import Terminals, resized

POLL_S = 0.1
ATTEMPT = "HRMDOC_ATTEMPT"
"""The variable by which a command knows which try it is, and by which its processes are known."""
SAME_S = 2.0
"""Two starts that are told so near to each other are one: clocks of files and processes differ in
precision."""
KEEPER = (
    'exec 3>&2 2>/dev/null; trap : HUP INT QUIT TERM USR1 USR2; (exec 2>&3 3>&-; exec "$@"); s=$?; '
    'echo $s >"$0.new"; mv -f "$0.new" "$0"; exit $s'
)
"""Keeps the exit status in a file, so that it can be read by who is not the parent: a shell that outlives the
signals which end its command (those reach the whole group), and says nothing of its own into the log."""


class Child:
    """A command that runs, or has run.

    Args:
        pid: its process, which leads a session and a group of its own; 0 where it is gone.
        started: when that began, Unix seconds.
        kept: the file in which its exit status is kept, None where the parent alone knows it.

    Attributes:
        status: as `subprocess` gives it once it has ended; None before, and where nobody saw it.
    """

    def __init__(
        self,
        pid: int,
        started: float,
        kept: Path | None = None,
        parent: subprocess.Popen[bytes] | None = None,
        group: int = 0,
    ) -> None:
        self.pid, self.started = pid, started
        self._group = group or pid
        self.status: int | None = None
        self._kept, self._parent = kept, parent
        self._terminals: Terminals | None = None
        self._ended = pid == 0
        if self._ended:
            self.status = self._read()

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        files: Sequence[BinaryIO],
        kept: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Child:
        """Starts a command that writes into `files`, or to a terminal before them where ours is one.

        Raises:
            UsageError: it cannot be started.
        """
        own = {"PYTHONUNBUFFERED": "1", ATTEMPT: "1", **(variables or {})}
        environment = {**os.environ, **own}
        words = list(command)
        if kept is not None:
            if shutil.which(words[0]) is None:
                raise UsageError(f"cannot start {words[0]!r}: no such program")
            with suppress(OSError):
                kept.unlink()
            words = ["/bin/sh", "-c", KEEPER, str(kept), *words]
        terminals = Terminals(files)
        ends = terminals.ends
        try:
            process = subprocess.Popen(
                words, stdout=ends[0], stderr=ends[-1], env=environment, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"cannot start {command[0]!r}: {error.strerror}") from error
        finally:
            terminals.handed_over()
        child = cls(process.pid, _began(process.pid) or time.time(), kept, process)
        child._terminals = terminals
        return child

    @classmethod
    def found(cls, pid: int, started: float, kept: Path) -> Child:
        """The command that another supervisor started; one that has ended where there is no such process
        of this user any more."""
        lives = pid > 1 and abs((_began(pid) or 0.0) - started) < SAME_S and _is_mine(pid)
        reused = not lives and _began(pid) is not None
        return cls(pid if lives else 0, started, kept, group=0 if reused else pid)

    def poll(self) -> bool:
        """Whether it still runs."""
        if self._ended:
            return False
        if self._parent is not None:
            code = self._parent.poll()
            if code is None:
                return True
            self.status = _signed(code)
        elif _lives(self.pid, self.started):
            return True
        else:
            self.status = self._read()
        self._ended = True
        return False

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within this time."""
        until = time.monotonic() + seconds
        while self.poll():
            if (rest := until - time.monotonic()) <= 0:
                return False
            time.sleep(min(POLL_S, rest))
        return True

    def settle(self) -> None:
        """Waits until what it wrote stands in its log."""
        if self._terminals is not None:
            self._terminals.settle()

    def send(self, number: int) -> None:
        """Sends a signal to it and to all of its group; that our terminal has another size, with the size."""
        if number == signal.SIGWINCH:
            resized(self.pid)
        if self._group > 1 and (self._parent is not None or self.poll() or self.leftovers()):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, number)

    def leftovers(self) -> bool:
        """Whether something of its group is left, which it started and did not wait for."""
        return self._group > 1 and bool(_of_group(self._group))

    def end(self, grace: float) -> bool:
        """Ends it and all of its group: SIGTERM, then SIGKILL where it has not ended after `grace` seconds.

        Returns:
            False where it had to be killed.
        """
        gentle = True
        self.send(signal.SIGTERM)
        until = time.monotonic() + grace
        while self.poll() or self.leftovers():
            if time.monotonic() >= until:
                gentle = False
                self.send(signal.SIGKILL)
                self.wait(POLL_S)
                break
            time.sleep(POLL_S)
        return gentle

    def _read(self) -> int | None:
        try:
            return _signed(int(read_kept(self._kept)[:8])) if self._kept is not None else None
        except (OSError, ValueError):
            return None


def _signed(code: int) -> int:
    """A status of a shell, 128 and more for a signal, as `subprocess` gives it."""
    return 128 - code if code - 128 in signal.valid_signals() else code


def _began(pid: int) -> float | None:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _is_mine(pid: int) -> bool:
    """Whether it is this user's, and leads a group of its own as every supervised command does."""
    try:
        return psutil.Process(pid).uids().real == os.getuid() and os.getpgid(pid) == pid
    except (psutil.Error, OSError):
        return False


def _lives(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - started) < SAME_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _of_group(group: int) -> Sequence[int]:
    """Processes of a group that do something still, and that a supervisor started: once its leader is
    gone, the number of a group may be another's."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mine = os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
            if mine and (process.pid == group or ATTEMPT in process.environ()):
                found.append(process.pid)
    return found


def oom_kills() -> int | None:
    """How many processes the kernel has ended for want of memory since it started; None where it does not
    say."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), None)
    except (OSError, ValueError, IndexError):
        return None
