"""Weights & Biases: the binary log of a run (`run-<id>.wandb`) and `wandb-metadata.json`.

A record of the log is a protocol-buffer message `wandb_internal.Record`. Only what a diagnosis needs is
decoded: history, config, system statistics, exit, output. Field numbers after
wandb/proto/wandb_internal.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.readers.events import wire
from hrmdoc.readers.events.wire import BYTES, Field
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context, Session
from hrmdoc.readers.support.flatten import flat_facts, plain_value
from hrmdoc.readers.support.framed import HEADER, FramedSession
from hrmdoc.readers.support.whole import json_session
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Event, Fact, Line, Record

NAME = "wandb"
TITLE = "Weights & Biases offline runs"
WHOLE = False

_MAGIC = b":W&B"
_HISTORY, _OUTPUT, _CONFIG, _STATS, _OUTPUT_RAW, _RUN, _EXIT = 2, 4, 5, 7, 13, 17, 18
_METADATA = {
    "python": "env",
    "gpu": "env",
    "gpu_count": "env",
    "cpu_count": "env",
    "os": "env",
    "program": "env",
    "startedAt": "env",
}


def sniff(path: Path, head: bytes) -> float:
    """By its first bytes, or its name."""
    if head.startswith(_MAGIC):
        return 1.0
    if path.suffix == ".wandb" and head[4:HEADER] == b"\xe1\xbe\0":
        return 0.9
    return 0.95 if path.name == "wandb-metadata.json" and head.lstrip().startswith(b"{") else 0.0


def open_session(context: Context) -> Session:
    """Starts to read one file."""
    return json_session(context, _metadata) if context.path.endswith(".json") else _Session(context)


def _metadata(context: Context, tree: Any) -> Iterator[Record]:
    for key, value in tree.items() if isinstance(tree, dict) else ():
        plain = plain_value(value)
        if key in _METADATA and plain is not None:
            yield Fact(key, plain, "env", context.path)
        if key == "cpu_count" and isinstance(value, int):
            yield Fact("env.cpu_count", value, "run", context.path)


class _Session(FramedSession):
    def __init__(self, context: Context) -> None:
        super().__init__(context, _MAGIC, "a W&B log")
        self._rows = Rows(context, precision=3)
        self._stats = Rows(context, precision=3)
        self._step = 0
        self._text = ""
        self._printed = not (Path(context.path).parent / "files" / "output.log").exists()

    def _gathered(self) -> Iterator[Record]:
        yield from self._rows.points()
        yield from self._stats.points()

    def _last(self) -> Iterator[Record]:
        yield from self._rows.rest()
        yield from self._print("\n")

    def _message(self, data: bytes) -> Iterator[Record]:
        for field in wire.fields(data):
            if field.kind != BYTES:
                continue
            if field.number == _HISTORY:
                self._history(data, field)
            elif field.number == _STATS:
                self._statistics(data, field)
            elif field.number == _CONFIG:
                yield from self._config(data, field)
            elif field.number == _RUN:
                yield from self._run(data, field)
            elif field.number == _EXIT:
                yield self._exit(data, field)
            elif field.number in (_OUTPUT, _OUTPUT_RAW) and self._printed:
                yield from self._output(data, field)

    def _exit(self, data: bytes, outer: Field) -> Event:
        codes = (one.value for one in wire.fields(data, outer.start, outer.end) if one.number == 1)
        code = wire.signed(next(codes, 0))
        detail = "finished" if code == 0 else f"crashed with exit code {code}"
        return Event("end", self._context.path, self._begin, self._step, detail=detail)

    def _output(self, data: bytes, outer: Field) -> Iterator[Line]:
        for one in wire.fields(data, outer.start, outer.end):
            if one.number == 3 and one.kind == BYTES:
                yield from self._print(wire.text(data, one))

    def _history(self, data: bytes, outer: Field) -> None:
        row: dict[str, Any] = {}
        for one in wire.fields(data, outer.start, outer.end):
            if one.number == 1 and one.kind == BYTES:
                key, value = _item(data, one)
                row[key] = value
            elif one.number == 2 and one.kind == BYTES:
                row.setdefault(
                    "_step",
                    next((f.value for f in wire.fields(data, one.start, one.end) if f.number == 1), 0),
                )
        if isinstance(row.get("_step"), int):
            self._step = row["_step"]
        row.pop("_runtime", None)
        self._rows.add(row, self._begin)

    def _statistics(self, data: bytes, outer: Field) -> None:
        row: dict[str, Any] = {"_step": self._step}
        for one in wire.fields(data, outer.start, outer.end):
            if one.number == 2 and one.kind == BYTES:
                row["_timestamp"] = next(
                    (f.value for f in wire.fields(data, one.start, one.end) if f.number == 1), 0
                )
            elif one.number == 3 and one.kind == BYTES:
                key, value = _item(data, one)
                row[f"system.{key}"] = value
        self._stats.add(row, self._begin)

    def _config(self, data: bytes, outer: Field) -> Iterator[Fact | Damage]:
        for one in wire.fields(data, outer.start, outer.end):
            if one.number != 1 or one.kind != BYTES:
                continue
            key, value = _item(data, one)
            if key.startswith("_wandb"):
                continue
            yield from flat_facts({key: value}, self._context.path, self._begin)

    def _run(self, data: bytes, outer: Field) -> Iterator[Record]:
        resumed = False
        for one in wire.fields(data, outer.start, outer.end):
            if one.number == 4 and one.kind == BYTES:
                yield from self._config(data, one)
            elif one.number == 18:
                resumed = bool(one.value)
        yield Event("resume" if resumed else "start", self._context.path, self._begin)

    def _print(self, text: str) -> Iterator[Line]:
        """Printed text comes in fragments; whole lines are kept when a signature asks for them."""
        *lines, self._text = (self._text + text).split("\n")
        self._text = self._text[-65536:]
        for line in lines:
            if line and any(True for _ in self._context.wanted(line.encode())):
                yield Line(line, self._context.path, self._begin, rank=self._context.rank, step=self._step)


def _item(data: bytes, outer: Field) -> tuple[str, Any]:
    """Key and value of an item; a nested key is joined by dots, a value that is no JSON becomes None."""
    keys: list[str] = []
    value: Any = None
    for one in wire.fields(data, outer.start, outer.end):
        if one.number in (1, 2) and one.kind == BYTES:
            keys.append(wire.text(data, one))
        elif one.number == 16 and one.kind == BYTES:
            try:
                value = json_text.loads(data[one.start : one.end])
            except ValueError:
                value = None
    return ".".join(key for key in keys if key), value
