"""What `powermetrics --samplers gpu_power` prints on Apple's processors, sample by sample."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.lines import LineSession
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Record

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


class _Session(LineSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows = Rows(context, precision=1)
        self._sample: dict[str, float] = {}
        self._time = math.nan
        self._place = self._samples = 0

    def _block(self, block: bytes) -> Iterator[Record]:
        if not block:
            return
        first = self._lines.number
        for at, raw in enumerate(self._lines.split(block)):
            self._line(raw.decode("utf-8", "replace").strip(), first + at)
        yield from self._overlong()
        yield from self._rows.points()

    def close(self) -> Iterator[Record]:
        """The last line, and the sample that it ends."""
        yield from super().close()
        self._end()
        yield from self._rows.points()

    def _line(self, line: str, place: int) -> None:
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
            clock = {"timestamp": self._time} if math.isfinite(self._time) else {}
            self._rows.add({"step": self._samples, **clock, **sample}, self._place)
            self._samples += 1


def _moment(text: str) -> float:
    """`Sat Nov 21 10:00:01 2026 +0100` as Unix seconds; NaN where it is none."""
    try:
        return datetime.strptime(text, _STAMP).timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan
