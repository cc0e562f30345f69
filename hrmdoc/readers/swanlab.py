"""SwanLab: the log of a run (`run-<id>.swanlab`, `backup.swanlab`) that its local and offline modes keep.

A record is a protocol-buffer message `swanlab.record.v1.Record`, or a document of JSON, as older versions
write it; metrics, console lines, start and end are decoded. Field numbers after the messages of swanlab 0.10,
names after those of 0.6.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from hrmdoc.readers.events import wire
from hrmdoc.readers.events.wire import BYTES, FIXED64, VARINT, Field
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.framed import FramedSession
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Event, Line, Record

NAME = "swanlab"
TITLE = "SwanLab local runs"
WHOLE = False

_MAGIC = b":SWL"
_START, _FINISH, _SCALAR, _LOG = 10, 11, 13, 16
_KEY, _STEP, _TIME, _VALUE = 1, 2, 4, 5
_STATES = {0: "running", 1: "finished", 2: "crashed", 3: "stopped"}


def sniff(path: Path, head: bytes) -> float:
    """By its first bytes."""
    del path
    return 1.0 if head.startswith(_MAGIC) else 0.0


def open_session(context: Context) -> _Session:
    """Starts to read one file."""
    return _Session(context)


class _Session(FramedSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context, _MAGIC, "a SwanLab log")
        self._rows = Rows(context, precision=3)
        self._step = 0

    def _gathered(self) -> Iterator[Record]:
        yield from self._rows.points()

    def _last(self) -> Iterator[Record]:
        yield from self._rows.rest()

    def _message(self, data: bytes) -> Iterator[Record]:
        if data.startswith(b"{"):  # no field of a message has the number and the kind that this stands for
            yield from self._document(orjson.loads(data))
            return
        for field in wire.fields(data):
            if field.kind != BYTES:
                continue
            inside = {one.number: one for one in wire.fields(data, field.start, field.end)}
            if field.number == _SCALAR:
                self._scalar(data, inside)
            elif field.number == _LOG and 1 in inside and inside[1].kind == BYTES:
                yield from self._lines(wire.text(data, inside[1]))
            elif field.number == _START:
                yield Event("start", self._context.path, self._begin)
            elif field.number == _FINISH:
                state = inside[1].value if 1 in inside else 0
                detail = _STATES.get(state, "finished")
                yield Event("end", self._context.path, self._begin, self._step, detail=detail)

    def _scalar(self, data: bytes, inside: dict[int, Field]) -> None:
        if _KEY not in inside or inside[_KEY].kind != BYTES:
            return
        step = inside[_STEP].value if _STEP in inside and inside[_STEP].kind == VARINT else 0
        self._step = wire.signed(step)
        row: dict[str, Any] = {"step": self._step, wire.text(data, inside[_KEY]): _scalar_value(data, inside)}
        if _TIME in inside and inside[_TIME].kind == BYTES:
            time = wire.fields(data, inside[_TIME].start, inside[_TIME].end)
            row["_timestamp"] = next((one.value for one in time if one.number == 1), None)
        self._rows.add(row, self._begin)

    def _document(self, document: Mapping[str, Any]) -> Iterator[Record]:
        """One record of JSON: `model_type` says what `data` is."""
        kind, data = document.get("model_type"), document.get("data")
        if not isinstance(data, dict):
            return
        if kind == "Scalar" and isinstance(metric := data.get("metric"), dict):
            step = data.get("step")
            self._step = step if isinstance(step, int) else self._step
            row = {"step": self._step, str(data.get("key")): metric.get("data")}
            self._rows.add({**row, "_timestamp": metric.get("create_time")}, self._begin)
        elif kind == "Log":
            yield from self._lines(str(data.get("message")))
        elif kind == "Header":
            yield Event("start", self._context.path, self._begin)
        elif kind == "Footer":
            state = "finished" if data.get("success") else "crashed"
            yield Event("end", self._context.path, self._begin, self._step, detail=state)

    def _lines(self, text: str) -> Iterator[Line]:
        for line in text.split("\n"):
            if line and any(True for _ in self._context.wanted(line.encode("utf-8", "replace"))):
                yield Line(line, self._context.path, self._begin, rank=self._context.rank, step=self._step)


def _scalar_value(data: bytes, inside: dict[int, Field]) -> float | None:
    """The value of a scalar; protocol buffers leave a zero out."""
    outer = inside.get(_VALUE)
    if outer is None or outer.kind != BYTES:
        return None
    for one in wire.fields(data, outer.start, outer.end):
        if one.number == 1 and one.kind == FIXED64:
            return float(struct.unpack("<d", data[one.start : one.end])[0])
    return 0.0
