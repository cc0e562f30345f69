"""ClearML offline: `metrics.jsonl`, `log.jsonl` and `task.json` of an offline session, in its folder or the
zip file that is made of it.

ClearML writes 0 for NaN and infinity (`Logger.set_reporting_nan_value` changes it): an exact zero may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context, Session
from hrmdoc.readers.support.json_text import part
from hrmdoc.readers.support.whole import json_session
from hrmdoc.readers.tables.objects import ObjectSession, Row
from hrmdoc.record.records import Fact, Line, Record, Value

NAME = "clearml"
TITLE = "ClearML offline sessions"
WHOLE = False

_EVENT = re.compile(rb'\s*\[\s*\{[^\n]{0,400}?"type":\s*"(?:training_stats_\w+|log|plot)"')
_TASK = re.compile(rb'"offline_folder"\s*:|"hyperparams"\s*:')
_SECTIONS = frozenset({"General", "Args", "Hydra"})
"""Sections of settings that need no name before theirs."""


def sniff(path: Path, head: bytes) -> float:
    """By its first list of events, or by what every task has."""
    if path.name == "task.json" and head.lstrip().startswith(b"{"):
        return 0.97 if _TASK.search(head) else 0.0
    return 0.98 if _EVENT.match(head) else 0.0


def open_session(context: Context) -> Session:
    """Starts to read one file."""
    if context.path.endswith(".json"):
        return json_session(context, _task)
    return ObjectSession(context, _read, "lists of ClearML's events")


def _task(context: Context, tree: Any) -> Iterator[Record]:
    """Settings of the task; each stands in a section."""
    sections = part(tree, "hyperparams")
    for section, entries in sections.items() if isinstance(sections, dict) else ():
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            value = part(entry, "value")
            if isinstance(value, str):
                key = name if section in _SECTIONS else f"{section}.{name}"
                yield Fact(key.replace("/", "."), _typed(value, part(entry, "type")), "config", context.path)


def _typed(text: str, kind: Any) -> Value:
    """A setting as it was before it was kept as text."""
    if kind == "bool" and text in ("True", "False"):
        return text == "True"
    if kind in ("int", "float"):
        with suppress(ValueError):
            return int(text) if kind == "int" else float(text)
    return text


def _read(context: Context, message: Any, place: int) -> Iterator[Record | Row]:
    for event in message if isinstance(message, list) else ():
        kind, text = part(event, "type"), part(event, "msg")
        if kind == "training_stats_scalar":
            names = [part(event, "metric"), part(event, "variant")]
            time = part(event, "timestamp")
            yield {
                "step": part(event, "iter"),
                "/".join(str(name) for name in names if name): part(event, "value"),
                "_timestamp": time / 1000 if isinstance(time, int | float) else None,
            }
        elif kind == "log" and isinstance(text, str):
            for line in text.split("\n"):
                if line and any(True for _ in context.wanted(line.encode("utf-8", "replace"))):
                    yield Line(line, context.path, place, rank=context.rank)
