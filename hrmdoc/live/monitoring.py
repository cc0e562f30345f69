"""Measures the machine while a run is watched, and adds what it shows to the run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from hrmdoc.monitors.kept import FILE, Kept
from hrmdoc.monitors.processes import writer_of
from hrmdoc.monitors.sampler import Sampler
from hrmdoc.record.run import Run

SEARCH_EVERY_S = 60.0


class Monitoring:
    """The samples of one run.

    Args:
        run: what is known of it; grows.
        followed: its folder or its log.
        files: what is followed of it: who writes there is its process.
        folder: where the samples are kept; None: nowhere.
        every: seconds between two samples.
        pid: its process, where the caller started it.
    """

    def __init__(
        self,
        run: Run,
        followed: Path,
        files: Callable[[], Iterable[str]],
        folder: Path | None,
        every: float,
        say: Callable[[str], None],
        pid: Callable[[], int | None] | None = None,
    ) -> None:
        self._run = run
        checkpoints = followed / "checkpoints" if followed.is_dir() else followed.parent
        self._kept = Kept(run, folder / FILE if folder else None, time.time())
        self._sampler = Sampler(checkpoints, pid or Writer(run, files), every, say).start()

    def take(self) -> None:
        """Adds what was measured since the last call."""
        samples = self._sampler.taken()
        if samples:
            series = self._run.progress
            self._kept.take(samples, 0 if series is None else int(series.steps[-1]))

    def last(self) -> None:
        """Adds what the machine shows now that the run has ended."""
        self._sampler.last()
        self.take()

    def close(self) -> None:
        """Measures no more."""
        self._sampler.close()


class Writer:
    """The process of a run on this machine: the one that the run names, else the one that writes its files.

    Args:
        run: what is known of it.
        files: what is followed of it.
        steady: seconds of a clock that nobody sets.
    """

    def __init__(
        self, run: Run, files: Callable[[], Iterable[str]], steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._files, self._steady = run, files, steady
        self._found: int | None = None
        self._began = 0.0
        self._searched = -SEARCH_EVERY_S

    def __call__(self) -> int | None:
        """Its number; None while it is not known."""
        named = self._named()
        if named is not None:
            return named
        if self._found is not None and _lives(self._found, self._began):
            return self._found
        self._found = None
        if self._steady() - self._searched >= SEARCH_EVERY_S:
            self._searched = self._steady()
            self._found = next((pid for path in list(self._files()) if (pid := writer_of(Path(path)))), None)
            self._began = 0.0 if self._found is None else _began(self._found)
        return self._found

    def _named(self) -> int | None:
        """The number that the run states, where it ran on this machine and lives; `run.process_alive` says
        so."""
        host, lives = self._run.fact("run.host"), self._run.fact("run.process_alive")
        stated = self._run.fact("heartbeat.pid") or self._run.fact("run.pid")
        if host is None or host.value != platform.node() or lives is None or lives.value is not True:
            return None
        return stated.value if stated is not None and isinstance(stated.value, int) else None


def _began(pid: int) -> float:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def _lives(pid: int, began: float) -> bool:
    return began > 0 and _began(pid) == began
