"""Neptune offline: the queue of operations (`.neptune/offline/<run>/data-1.log`) of neptune 1.x.

Neptune takes no NaN and no infinity: where a loss became one, its curve ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import plain_value
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.tables.objects import ObjectSession, Row
from hrmdoc.record.records import Fact, Record

NAME = "neptune"
TITLE = "Neptune offline runs"
WHOLE = False

_OPERATION = re.compile(rb'\s*\{"obj":\s*\{"type":\s*"\w+",\s*"path":\s*\[')
_SETTINGS = frozenset({"AssignFloat", "AssignInt", "AssignBool", "AssignString"})
_OWN = frozenset({"sys", "source_code", "monitoring"})
"""Namespaces that Neptune fills itself."""


def sniff(path: Path, head: bytes) -> float:
    """By its first operation."""
    del path
    return 1.0 if _OPERATION.match(head) else 0.0


def open_session(context: Context) -> ObjectSession:
    """Starts to read one file."""
    return ObjectSession(context, _read, "operations of Neptune")


def _read(context: Context, message: Any, place: int) -> Iterator[Record | Row]:
    operation = part(message, "obj")
    path, kind = part(operation, "path"), part(operation, "type")
    if not isinstance(path, list) or not path or not all(isinstance(name, str) for name in path):
        return
    if kind == "LogFloats":
        values = part(operation, "values")
        for one in values if isinstance(values, list) else ():
            yield {
                "step": part(one, "step"),
                "/".join(path): part(one, "value"),
                "_timestamp": part(one, "ts"),
            }
    elif kind in _SETTINGS and path[0] not in _OWN:
        value = plain_value(part(operation, "value"))
        names = path[1:] if path[0] in ("parameters", "params", "config") and len(path) > 1 else path
        if value is not None:
            yield Fact(".".join(names), value, "config", context.path, place)
