"""OpenTelemetry metrics as OTLP JSON: what the collector's file exporter writes, an export a line.

A point has a time and no step, unless an attribute says it (`step`, `global_step`, `iteration`).
https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.tables.cells import number
from hrmdoc.readers.tables.objects import ObjectSession, Row
from hrmdoc.record.records import Record

NAME = "otlp"
TITLE = "OpenTelemetry metrics (OTLP JSON lines)"
WHOLE = False

_EXPORT = re.compile(rb'\s*\{\s*"resource_?[mM]etrics"\s*:')
_STEPS = ("step", "global_step", "iteration", "train.step", "training.step")
_NANO = 1e9


def sniff(path: Path, head: bytes) -> float:
    """By its first export."""
    del path
    return 0.98 if _EXPORT.match(head) else 0.0


def open_session(context: Context) -> ObjectSession:
    """Starts to read one file."""
    return ObjectSession(context, _read, "exports of metrics")


def _read(context: Context, message: Any, place: int) -> Iterator[Record | Row]:
    del context, place
    for resource in _list(message, "resourceMetrics"):
        for scope in _list(resource, "scopeMetrics"):
            for metric in _list(scope, "metrics"):
                yield from _points(metric)


def _points(metric: Any) -> Iterator[Row]:
    """Of gauges and sums; a histogram is no curve."""
    name = part(metric, "name")
    if not isinstance(name, str):
        return
    for kind in ("gauge", "sum"):
        for point in _list(part(metric, kind), "dataPoints"):
            labels = {
                part(one, "key"): next(iter(value.values()), None)
                for one in _list(point, "attributes")
                if isinstance(value := part(one, "value"), dict) and isinstance(part(one, "key"), str)
            }
            step = next((labels.pop(key) for key in _STEPS if key in labels), None)
            of = ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if isinstance(value, str))
            nanos = number(part(point, "timeUnixNano"))
            yield {
                "step": number(step),
                f"{name}{{{of}}}" if of else name: _point_value(point),
                "_timestamp": None if nanos is None else nanos / _NANO,
            }


def _point_value(point: Any) -> float | None:
    """A number, which JSON spells as text where it is no number or an integer of 64 bits."""
    double = part(point, "asDouble")
    return number(part(point, "asInt") if double is None else double)


def _list(tree: Any, name: str) -> list[Any]:
    found = part(tree, name)
    return found if isinstance(found, list) else []
