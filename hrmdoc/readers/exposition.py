"""What node-exporter and NVIDIA's DCGM exporter answer: Prometheus' text, one scrape or several on end.

Of their families those are read that rules ask about, under the names and in the units that other sources
use; what else a machine exports says nothing of a run. A scrape ends where one of its samples comes again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.samples import is_sample, sample
from hrmdoc.readers.tables.row_lines import RowLines
from hrmdoc.record.records import Damage

NAME = "exposition"
TITLE = "Prometheus text of node-exporter and DCGM exporter"
WHOLE = False

_FAMILY = rb"(?:node_(?:filesystem|memory|cpu|load|network|disk)|DCGM_FI_(?:DEV|PROF))\w*"
_OURS = re.compile(
    rb"(?m)^(?:# (?:HELP|TYPE) " + _FAMILY + rb" |" + _FAMILY + rb"(?:\{[^\n]*\})? [-+0-9.eNaInf]+)"
)
_GPU = {
    "DCGM_FI_DEV_GPU_UTIL": "utilization.gpu",
    "DCGM_FI_DEV_MEM_COPY_UTIL": "utilization.memory",
    "DCGM_FI_DEV_FB_USED": "memory.used",
    "DCGM_FI_DEV_GPU_TEMP": "temperature.gpu",
    "DCGM_FI_DEV_POWER_USAGE": "power.draw",
}
_FREE = ("node_filesystem_avail_bytes", "node_filesystem_free_bytes")
_TOTAL, _AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"
_PASSING = frozenset(
    """
    tmpfs ramfs devtmpfs overlay squashfs proc sysfs cgroup cgroup2 nsfs autofs iso9660 vfat fuse.lxcfs
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
"""File systems that hold no checkpoints."""
_MOST_PLACES = 10_000


def sniff(path: Path, head: bytes) -> float:
    """By a family of one of the two exporters at the beginning of a line."""
    del path
    return 0.97 if _OURS.search(head) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(RowLines):
    def __init__(self, context: Context) -> None:
        super().__init__(context, "lines that are no samples")
        self._seen: set[str] = set()
        self._scrape: dict[str, float] = {}
        self._time = math.nan
        self._began = 0
        self._scrapes = 0

    def _line(self, line: str, place: int) -> Iterator[Damage]:
        if not is_sample(line):
            return
        found = sample(line)
        if found is None:
            yield from self._unread.at(place, "the line is no sample of a metric")
        elif metric := _metric(found.name, found.labels):
            if found.series in self._seen or len(self._seen) >= _MOST_PLACES:
                self._end()
            self._seen.add(found.series)
            if not self._scrape:
                self._began = place
            if math.isfinite(found.seconds):
                self._time = found.seconds
            self._note(metric, found.value)

    def _note(self, metric: str, value: float) -> None:
        if metric == "disk.free":  # in GB
            value = min(value / 1e9, self._scrape.get(metric, math.inf))
        self._scrape[metric] = value

    def _end(self) -> None:
        """One scrape is a row; scrapes are numbered, since exporters know no step."""
        scrape, self._scrape = self._scrape, {}
        total, available = scrape.pop(_TOTAL, 0.0), scrape.pop(_AVAILABLE, math.nan)
        if total > 0 and math.isfinite(available):
            scrape["host.memory_share"] = 100 * (1 - available / total)
        if scrape:
            self._add(self._scrapes, self._time, scrape, self._began)
            self._scrapes += 1
        self._seen, self._time = set(), math.nan


def _metric(name: str, labels: Mapping[str, str]) -> str | None:
    """The name that a sample bears here; None for one that no rule asks about.

    Of several disks the fullest counts.
    """
    if name in _GPU:
        return f"gpu.{labels.get('gpu', '0')[:40]}.{_GPU[name]}"
    if name in _FREE:
        return None if labels.get("fstype", "") in _PASSING else "disk.free"
    return name if name in (_TOTAL, _AVAILABLE) else None
