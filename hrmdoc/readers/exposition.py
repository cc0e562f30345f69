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
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Record

NAME = "exposition"
TITLE = "Prometheus text of node-exporter and DCGM exporter"
WHOLE = False

_FAMILY = rb"(?:node_(?:filesystem|memory|cpu|load|network|disk)|DCGM_FI_(?:DEV|PROF))\w*"
_OURS = re.compile(
    rb"(?m)^(?:# (?:HELP|TYPE) " + _FAMILY + rb" |" + _FAMILY + rb"(?:\{[^\n]*\})? [-+0-9.eNaInf]+)"
)
_SAMPLE = re.compile(
    r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+(?P<time>-?\d{1,15}))?\s*"
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
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


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows = Rows(context, precision=1)
        self._unread = LeftOut(context.path, "lines that are no samples")
        self._seen: set[str] = set()
        self._scrape: dict[str, float] = {}
        self._time = math.nan
        self._began = 0
        self._scrapes = 0

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        first = self._lines.number
        for at, raw in enumerate(self._lines.split(block)):
            line = raw.decode("utf-8", "replace").strip()
            if line and not line.startswith("#"):
                yield from self._line(line, first + at)
        yield from self._overlong()
        yield from self._rows.points()

    def close(self) -> Iterator[Record]:
        """The last line, and the scrape that it ends."""
        yield from super().close()
        self._end()
        yield from self._rows.points()
        yield from self._unread.rest()

    def _line(self, line: str, place: int) -> Iterator[Record]:
        found = _SAMPLE.fullmatch(line)
        value = _number(found["value"]) if found else None
        if found is None or value is None:
            yield from self._unread.at(place, "the line is no sample of a metric")
            return
        name, labels = found["name"], dict(_LABEL.findall(found["labels"] or ""))
        metric = _metric(name, labels)
        if metric is None:
            return
        sample = f"{name}{{{found['labels'] or ''}}}"
        if sample in self._seen or len(self._seen) >= _MOST_PLACES:
            self._end()
        self._seen.add(sample)
        if not self._scrape:
            self._began = place
        if found["time"]:
            self._time = int(found["time"]) / 1000
        least = metric == "disk.free"
        known = self._scrape.get(metric, math.inf)
        value = value / 1e9 if least else value
        self._scrape[metric] = min(known, value) if least else value

    def _end(self) -> None:
        """One scrape is a row; scrapes are numbered, since exporters know no step."""
        scrape, self._scrape = self._scrape, {}
        total, available = scrape.pop(_TOTAL, 0.0), scrape.pop(_AVAILABLE, math.nan)
        if total > 0 and math.isfinite(available):
            scrape["host.memory_share"] = 100 * (1 - available / total)
        if scrape:
            clock = {"timestamp": self._time} if math.isfinite(self._time) else {}
            self._rows.add({"step": self._scrapes, **clock, **scrape}, self._began)
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


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
