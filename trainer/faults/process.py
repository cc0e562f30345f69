"""Faults of the process and of its disk."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..launch.env import restarted
from .base import Fault

if TYPE_CHECKING:
    from ..state.state import TrainState

STEP = 50  # late enough that the run looks healthy first


@dataclass
class Hang(Fault):
    """process-hung: before `@step` the loop waits for `strength` seconds (0: until it is killed)."""

    strength: float = 0.0
    step: int = STEP
    cause = "process-hung"

    def before_step(self, state: TrainState) -> None:
        if state.step + 1 != self.step:
            return
        end = time.monotonic() + self.strength if self.strength else float("inf")
        while time.monotonic() < end:
            time.sleep(0.05)


@dataclass
class Kill(Fault):
    """scheduler-killed: before `@step` the process kills itself with SIGKILL, as the system does when memory
    runs out.

    Of several processes it is the last one, and only at the first start: torchrun's restart is to go on.
    """

    step: int = STEP
    cause = "scheduler-killed"

    def before_step(self, state: TrainState) -> None:
        last = state.world.rank == state.world.size - 1
        if state.step + 1 == self.step and last and not restarted(os.environ):
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


@dataclass
class CorruptCheckpoint(Fault):
    """checkpoint-damaged: the middle of every checkpoint from `@step` on is overwritten after it was
    completed."""

    cause = "checkpoint-damaged"

    def saved(self, path: Path) -> None:
        if int(path.name.removeprefix("step_")) < self.step:
            return
        file = path / "state.pt"
        with file.open("r+b") as stream:
            stream.seek(file.stat().st_size // 2)
            stream.write(b"\0" * 64)


@dataclass
class DiskFull(Fault):
    """disk-exhausted: from `@step` on a checkpoint finds room for `strength` KiB only."""

    strength: float = 16.0
    cause = "disk-exhausted"

    def write(self, state: dict[str, Any], file: Any, save: Callable[[dict[str, Any], Any], None]) -> None:
        save(state, _Quota(file, int(self.strength * 1024)) if state["step"] >= self.step else file)


class _Quota:
    """A file that accepts so many bytes and then reports a full disk."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.file.write(data))

    def flush(self) -> None:
        self.file.flush()
