"""The process tree of a run: which processes those are, and what they use."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from hrmdoc.monitors.sensor import Rate, Values, known, text_of

GB = 1e9
SEARCH_EVERY_S = 60.0


class Tree:
    """The processes of one run, found again at each look.

    Args:
        root: the process that started the others, or None while nobody knows it.
    """

    def __init__(self, root: Callable[[], int | None]) -> None:
        self._root = root
        self._known: dict[int, psutil.Process] = {}

    @property
    def root(self) -> int | None:
        """The process at the top of it, while it lives."""
        pid = self._root()
        return pid if pid is not None and psutil.pid_exists(pid) else None

    def processes(self) -> list[psutil.Process]:
        """All that live now."""
        root = self.root
        pids = [] if root is None else [root, *_below(root)]
        found: dict[int, psutil.Process] = {}
        for pid in pids:
            with suppress(psutil.Error):
                known_one = self._known.get(pid)
                found[pid] = known_one if known_one and known_one.is_running() else psutil.Process(pid)
        self._known = found
        return list(found.values())


def _below(pid: int) -> list[int]:
    """The descendants of a process. Linux lists them at the process itself; elsewhere all are asked for their
    parents, which costs milliseconds."""
    if text_of(Path(f"/proc/{pid}/task/{pid}/children")) is None:
        try:
            return [one.pid for one in psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            return []
    found, open_ones = [], [pid]
    while open_ones:
        one = open_ones.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{one}/task"):
                children = text_of(Path(f"/proc/{one}/task/{task}/children")) or ""
                open_ones += map(int, children.split())
        if one != pid:
            found.append(one)
    return found


class ProcessSensor:
    """Processor time, memory and what is written by a tree of processes."""

    every = 0.0

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seconds, self._written = {}, {}  # type: dict[int, float], dict[int, float]
        self._cpu, self._disk = Rate(0.01), Rate(1e6)
        self._spent = self._wrote = 0.0

    def read(self, now: float) -> Values:
        """What the tree uses; nothing while no process of the run is known."""
        processes = self._tree.processes()
        if not processes:
            return {}
        memory = 0.0
        seconds: dict[int, float] = {}
        written: dict[int, float] = {}
        for process in processes:
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                memory += process.memory_info().rss
                seconds[process.pid] = times.user + times.system
            with suppress(psutil.Error, AttributeError):
                written[process.pid] = process.io_counters().write_bytes
        # A process that ended takes its counter with it: what each of the living added is summed up instead.
        self._spent += _grown(self._seconds, seconds)
        self._wrote += _grown(self._written, written)
        self._seconds, self._written = seconds, written
        return known(
            host_process_cpu=self._cpu.of(now, self._spent),
            host_process_memory=memory / GB,
            host_processes=float(len(processes)),
            disk_written=self._disk.of(now, self._wrote) if written else None,
        )


def _grown(before: dict[int, float], after: dict[int, float]) -> float:
    return sum(max(0.0, count - before.get(pid, 0.0)) for pid, count in after.items()) if before else 0.0


def writer_of(log: Path) -> int | None:
    """The process of this user on this machine that has a file open for writing, the eldest of several; None
    where there is none, as for a log that another host writes."""
    try:
        wanted = log.stat()
    except OSError:
        return None
    found: list[tuple[float, int]] = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        with suppress(psutil.Error, OSError):
            if _writes(process.pid, wanted):
                found.append((process.create_time(), process.pid))
    return min(found)[1] if found else None


def _writes(pid: int, wanted: os.stat_result) -> bool:
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):  # of Linux alone; elsewhere nobody is found
        with suppress(OSError):
            here = os.stat(f"{folder}/{name}")
            if (here.st_ino, here.st_dev) == (wanted.st_ino, wanted.st_dev):
                flags = text_of(Path(f"/proc/{pid}/fdinfo/{name}")) or ""
                octal = flags.partition("flags:")[2].split(maxsplit=1)[:1] or ["0"]
                if int(octal[0], 8) & (os.O_WRONLY | os.O_RDWR):
                    return True
    return False
