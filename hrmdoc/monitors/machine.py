"""Processor, memory, network of this machine, and the disk that holds the checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import psutil

from hrmdoc.monitors.cgroup import Cgroup
from hrmdoc.monitors.processes import GB
from hrmdoc.monitors.sensor import Absent, Rate, Values, known


class MachineSensor:
    """Processor and memory of the machine, of which a container may have less.

    Args:
        pid: a process of the run, whose limits count.
    """

    every = 0.0

    def __init__(self, pid: Callable[[], int | None] = lambda: None) -> None:
        self._pid = pid
        self._of: int | None = None
        self._group = Cgroup()
        self._busy, self._total = Rate(), Rate()
        self._held, self._periods = Rate(), Rate()

    def read(self, now: float) -> Values:
        """What is in use."""
        if (pid := self._pid()) != self._of and pid is not None:
            self._of, self._group = pid, Cgroup(pid)
        memory = psutil.virtual_memory()
        share = 100 * (1 - memory.available / memory.total) if memory.total else 0.0
        limited = self._group.memory_share()
        return known(
            host_cpu=self._processor(now),
            host_memory_share=max(share, limited or 0.0),
            host_cpu_throttled=self._throttled(now),
            host_oom_kills=self._group.oom_kills(),
        )

    def _processor(self, now: float) -> float | None:
        times = psutil.cpu_times()
        everything = sum(times[:8])  # those of guests are in `user` already
        idle = times.idle + getattr(times, "iowait", 0.0)
        busy, total = self._busy.of(now, everything - idle), self._total.of(now, everything)
        return None if busy is None or not total else min(100.0, 100 * busy / total)

    def _throttled(self, now: float) -> float | None:
        counts = self._group.periods()
        if counts is None:
            return None
        periods, held = self._periods.of(now, counts[0]), self._held.of(now, counts[1])
        return None if periods is None or held is None else 100 * held / periods if periods else 0.0


class DiskSensor:
    """How much room is left where a run writes its checkpoints.

    Args:
        folder: a folder on that disk; the nearest one above it that exists counts.
    """

    every = 0.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, now: float) -> Values:
        """The room that this user has."""
        del now
        for folder in (self._folder, *self._folder.parents):
            try:
                return {"disk.free": shutil.disk_usage(folder).free / GB}
            except FileNotFoundError:
                continue
            except OSError as error:
                raise Absent(f"free space of the disk ({error.strerror})") from error
        return {}


class NetworkSensor:
    """What goes through all network devices but the one to the machine itself."""

    every = 0.0

    def __init__(self) -> None:
        self._received, self._sent = Rate(1e6), Rate(1e6)

    def read(self, now: float) -> Values:
        """Both directions."""
        try:
            devices = psutil.net_io_counters(pernic=True)
        except (OSError, RuntimeError) as error:
            raise Absent(f"network ({error})") from error
        outside = [one for name, one in devices.items() if not name.startswith("lo")]
        return known(
            host_net_received=self._received.of(now, sum(one.bytes_recv for one in outside)),
            host_net_sent=self._sent.of(now, sum(one.bytes_sent for one in outside)),
        )
