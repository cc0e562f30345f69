"""What `nvidia-smi` prints as it watches the GPUs: `--query-gpu=... --format=csv` and `dmon`.

Each GPU gives metrics of its own, `gpu.<index>.<field>`; fields keep nvidia-smi's names, and `dmon` columns
are given those of the same query fields.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.tables.cells import number, unix_time
from hrmdoc.readers.tables.row_lines import RowLines
from hrmdoc.record.records import Damage

NAME = "nvidia_smi"
TITLE = "nvidia-smi (CSV queries and dmon)"
WHOLE = False

_DMON = re.compile(rb"#\s*(?:Date\s+Time\s+)?gpu\s+[a-z]+")
_QUERY = re.compile(
    rb"[^\n]{0,2000}\b(?:utilization\.(?:gpu|memory)|memory\.used|temperature\.gpu|power\.draw)\b[^\n]*\n"
)
_UNIT = re.compile(r"\s*\[[^\]]*\]\s*$")
_COLUMNS = {
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "fb": "memory.used",
}
_INDEX = ("index", "gpu", "gpu_bus_id", "pci.bus_id", "uuid", "gpu_uuid")


def sniff(path: Path, head: bytes) -> float:
    """By the header; `dmon` names its columns after a `#`."""
    del path
    text = head.lstrip()
    return 0.97 if _DMON.match(text) or (_QUERY.match(text) and b"," in text.split(b"\n", 1)[0]) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(RowLines):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names: list[str] = []
        self._dmon = False
        self._readings: dict[str, int] = {}

    def _line(self, line: str, place: int) -> Iterator[Damage]:
        if line.startswith("#"):
            cells = line[1:].split()
            if "gpu" in cells:  # the line below it names the units
                self._names, self._dmon = [_COLUMNS.get(cell, cell) for cell in cells], True
            return
        cells = line.split() if self._dmon else [cell.strip() for cell in line.split(",")]
        if not self._dmon and any(
            cell.startswith(("timestamp", "index", "utilization.", "memory.")) for cell in cells
        ):
            self._names = [_UNIT.sub("", cell) for cell in cells]
        elif len(cells) == len(self._names):
            self._row(dict(zip(self._names, cells, strict=True)), place)
        elif line:
            yield from self._unread.at(
                place, f"the line has {len(cells)} cells where {len(self._names)} are named"
            )

    def _row(self, row: dict[str, str], place: int) -> None:
        """One reading of one GPU; readings are numbered by GPU, since nvidia-smi knows no step."""
        gpu = next((row[key] for key in _INDEX if key in row), "0")
        index = self._readings[gpu] = self._readings.get(gpu, -1) + 1
        time = math.nan
        if "timestamp" in row:
            time = unix_time(row["timestamp"])
        elif "Date" in row:
            day = row["Date"]
            time = unix_time(f"{day[:4]}-{day[4:6]}-{day[6:]} {row['Time']}")
        values = {
            f"gpu.{gpu}.{name}": value
            for name, cell in row.items()
            if name not in (*_INDEX, "timestamp", "Date", "Time", "name")
            and (value := number(cell)) is not None
        }
        self._add(index, time, values, place)
