"""What every sensor is: it reads once and answers with numbers by the names of roles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

UNITS: Mapping[str, str] = {
    "host.cpu": "% of all cores",
    "host.memory_share": "% of what the run may use",
    "host.process_cpu": "% of one core, the whole process tree",
    "host.process_memory": "GB, the whole process tree",
    "host.processes": "processes of the run",
    "host.cpu_throttled": "% of the periods in which the container was held back",
    "host.oom_kills": "processes of the container that the kernel ended",
    "host.net_received": "MB/s",
    "host.net_sent": "MB/s",
    "disk.free": "GB, where the checkpoints lie",
    "disk.written": "MB/s, by the process tree",
    "gpu.util": "%, the mean of those that the run uses",
    "gpu.memory_share": "%, of the fullest",
    "gpu.temperature": "°C, the hottest",
    "gpu.power": "W, all together",
    "gpu.throttled": "share of them that heat or a power brake slows",
    "gpu.behind": "percentage points of utilisation that the laziest lies below the median of the others",
    "gpu.behind_index": "which one that is",
    "gpu.hotter": "°C that the hottest lies above the median of the others",
    "gpu.hotter_index": "which one that is",
    "gpu.slower": "% that the slowest clock of those at work lies below the median of the others",
    "gpu.slower_index": "which one that is",
}
"""Everything that is measured, and its unit."""

Values = dict[str, float]


class Sample(NamedTuple):
    """What was read at one moment, Unix seconds."""

    time: float
    values: Values


class Absent(Exception):  # noqa: N818
    """This machine has no such sensor, or does not let it be read; the text says
    which, in a few words; "" where nobody would miss it."""


class Sensor(Protocol):
    """Reads one thing of the machine."""

    every: float
    """Seconds between two readings at least: some are dear."""

    def read(self, now: float) -> Values:
        """What it shows now; rates are since the reading before.

        Args:
            now: seconds of a clock that nobody sets.

        Raises:
            Absent: there is nothing to read, and will not be.
        """
        ...


class Rate:
    """How fast a counter grows.

    Args:
        unit: the counter's units in one of the answer.
    """

    def __init__(self, unit: float = 1.0) -> None:
        self._unit = unit
        self._before: tuple[float, float] | None = None

    def of(self, now: float, count: float) -> float | None:
        """Units a second since the call before; None at the first, and where the counter began anew."""
        before, self._before = self._before, (now, count)
        if before is None or now <= before[0] or count < before[1]:
            return None
        return (count - before[1]) / (now - before[0]) / self._unit


def known(**values: float | None) -> Values:
    """Those that are there; `host_cpu` stands for `host.cpu`."""
    return {name.replace("_", ".", 1): value for name, value in values.items() if value is not None}


def text_of(path: Path) -> str | None:
    """A small file of the kernel, or None where there is none to be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
