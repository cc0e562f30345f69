"""`error.json` that torchrun leaves for a worker that failed: the exception as the worker saw it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.whole import Whole, json_session
from hrmdoc.readers.tables.cells import unix_time
from hrmdoc.record.records import Damage, Event, Line, Record

NAME = "torchrun"
TITLE = "torchrun error files"
WHOLE = True

_MOST_STACK, _MOST_TEXT = 400, 50  # lines


def sniff(path: Path, head: bytes) -> float:
    """By its name and the one key that it has."""
    return 1.0 if path.suffix == ".json" and "error" in path.name and b'"message"' in head[:200] else 0.0


def open_session(context: Context) -> Whole:
    """Starts to read one file."""
    return json_session(context, _read)


def _read(context: Context, tree: Any) -> Iterator[Record]:
    message = tree.get("message") if isinstance(tree, dict) else None
    extra = message.get("extraInfo") if isinstance(message, dict) else None
    text = message.get("message") if isinstance(message, dict) else message
    if not isinstance(text, str):
        yield Damage(context.path, None, "holds no message")
        return
    stack = extra.get("py_callstack") if isinstance(extra, dict) else None
    time = unix_time(extra.get("timestamp")) if isinstance(extra, dict) else float("nan")
    for written, most in ((stack, _MOST_STACK), (text, _MOST_TEXT)):
        lines = written.splitlines() if isinstance(written, str) else []
        for line in lines[:most]:
            yield Line(line, context.path, 1, time, context.rank)
        if (more := len(lines) - most) > 0:
            yield Damage(context.path, 1, f"{more:,} more lines of its text were left out", left_out=more)
    yield Event("exception", context.path, 1, None, time, context.rank, text[:2000])
