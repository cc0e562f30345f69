"""What `nvidia-smi` prints as it watches the GPUs: `--query-gpu=... --format=csv` and `dmon`.

Each GPU gives metrics of its own, `gpu.<index>.<field>`; fields keep nvidia-smi's names, and `dmon` columns
are given those of the same query fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.cells import number, unix_time
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Record

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


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows = Rows(context, precision=1)
        self._names: list[str] = []
        self._dmon = False
        self._looks: dict[str, int] = {}
        self._unread = LeftOut(context.path, "lines that are no readings")

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        first = self._lines.number
        for at, raw in enumerate(self._lines.split(block)):
            yield from self._line(raw.decode("utf-8", "replace").strip(), first + at)
        yield from self._overlong()
        yield from self._rows.points()

    def close(self) -> Iterator[Record]:
        """The last line, and how many lines were left out."""
        yield from super().close()
        yield from self._unread.rest()

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
        index = self._looks[gpu] = self._looks.get(gpu, -1) + 1
        time = (
            unix_time(f"{row['Date'][:4]}-{row['Date'][4:6]}-{row['Date'][6:]} {row['Time']}")
            if "Date" in row
            else np.nan
        )
        time = unix_time(row["timestamp"]) if "timestamp" in row else time
        values = {
            f"gpu.{gpu}.{name}": value
            for name, cell in row.items()
            if name not in (*_INDEX, "timestamp", "Date", "Time", "name")
            and (value := number(cell)) is not None
        }
        clock = {"timestamp": float(time)} if np.isfinite(time) else {}
        self._rows.add({"step": index, **clock, **values}, place)
