"""Comet offline: `messages.json` of an offline experiment, which lies in a zip file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import plain_value
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.tables.objects import ObjectSession, Row
from hrmdoc.record.records import Fact, Line, Record

NAME = "comet"
TITLE = "Comet offline experiments"
WHOLE = False

_MESSAGE = re.compile(rb'\s*\{"payload":\s*\{')
_SORTS = re.compile(rb'"type":\s*"(?:metric_msg|parameter_msg|file_name|system_details|standard_output)"\}')
_MACHINE = ("sys.", "process ")
"""What Comet measures of the machine."""


def sniff(path: Path, head: bytes) -> float:
    """By its first message."""
    del path
    return 0.98 if _MESSAGE.match(head) and _SORTS.search(head) else 0.0


def open_session(context: Context) -> ObjectSession:
    """Starts to read one file."""
    return ObjectSession(context, _read, "messages of Comet")


def _read(context: Context, message: Any, place: int) -> Iterator[Record | Row]:
    kind, payload = part(message, "type"), part(message, "payload")
    if kind == "metric_msg":
        yield from _metric(payload)
    elif kind == "parameter_msg" and part(payload, "param", "source") == "manual":
        key, value = part(payload, "param", "paramName"), plain_value(part(payload, "param", "paramValue"))
        if isinstance(key, str) and value is not None:
            yield Fact(key, value, "config", context.path, place)
    elif kind == "standard_output" and isinstance(text := part(payload, "output"), str):
        for line in text.split("\n"):
            if line and any(True for _ in context.wanted(line.encode("utf-8", "replace"))):
                yield Line(line, context.path, place, rank=context.rank)


def _metric(payload: Any) -> Iterator[Row]:
    name = part(payload, "metric", "metricName")
    if not isinstance(name, str) or name.startswith(_MACHINE):
        return
    time = part(payload, "local_timestamp")
    yield {
        "step": part(payload, "metric", "step"),
        "epoch": part(payload, "metric", "epoch"),
        name: part(payload, "metric", "metricValue"),
        "_timestamp": time / 1000 if isinstance(time, int | float) else None,
    }
