"""What `powermetrics --samplers gpu_power` prints on Apple's processors, sample by sample."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.tables.row_lines import RowLines
from hrmdoc.record.records import Damage

NAME = "powermetrics"
TITLE = "powermetrics (GPU of Apple's processors)"
WHOLE = False

_SAMPLE = re.compile(r"\*\*\* Sampled system activity \((?P<time>[^)]{8,40})\)")
_BUSY = re.compile(r"GPU (?:HW )?active residency:\s*(\d{1,3}(?:\.\d{1,9})?)%")
_POWER = re.compile(r"GPU Power:\s*(\d{1,9}(?:\.\d{1,9})?) mW")
_STAMP = "%a %b %d %H:%M:%S %Y %z"
_HEAD = re.compile(rb"(?m)^\*\*\* Sampled system activity \(")


def sniff(path: Path, head: bytes) -> float:
    """By the line that begins a sample."""
    del path
    return 0.97 if _HEAD.search(head) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(RowLines):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sample: dict[str, float] = {}
        self._time = math.nan
        self._place = self._samples = 0

    def _line(self, line: str, place: int) -> Iterator[Damage]:
        yield from ()
        if begun := _SAMPLE.match(line):
            self._end()
            self._time, self._place = _moment(begun["time"]), place
        elif busy := _BUSY.match(line):
            self._sample["gpu.0.utilization.gpu"] = float(busy[1])
        elif power := _POWER.match(line):
            self._sample["gpu.0.power.draw"] = float(power[1]) / 1000

    def _end(self) -> None:
        """One sample is a row; they are numbered, since powermetrics knows no step."""
        sample, self._sample = self._sample, {}
        if sample:
            self._add(self._samples, self._time, sample, self._place)
            self._samples += 1


def _moment(text: str) -> float:
    """`Sat Nov 21 10:00:01 2026 +0100` as Unix seconds; NaN where it is none."""
    try:
        return datetime.strptime(text, _STAMP).timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan
