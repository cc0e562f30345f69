"""MLflow: the file store (`mlruns/<experiment>/<run>/metrics/...`) and the SQLite store (`mlflow.db`)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.readers.support.base import Context, Session
from hrmdoc.readers.support.flatten import plain_value
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.sqlite import MAGIC, Held, Stored, chosen, columns, held, is_database
from hrmdoc.readers.support.sqlite import rows as rows_of
from hrmdoc.readers.support.whole import Whole
from hrmdoc.record.records import Event, Fact, FloatArray, IntArray, Points, Record
from hrmdoc.text import patterns

if TYPE_CHECKING:
    import sqlite3

NAME = "mlflow"
TITLE = "MLflow (file store and SQLite)"
WHOLE = True

_METRIC_LINE = patterns.lazy(rb"^\d{10,16} \S+(?: -?\d+)?$")
_STAMPED = patterns.lazy(rb"(?:1[0-9]{12} [-+\dinfae.]{1,30} \d{1,12}\r?\n){2,}")
"""Lines of a metric's file that was taken out of its folder: milliseconds since 2001, a value, a step."""
_STATUS = {
    "3": "finished",
    "4": "failed",
    "5": "killed",
    "FINISHED": "finished",
    "FAILED": "failed",
    "KILLED": "killed",
}
_LARGEST = 1.7e308  # what the database holds for an infinity
_LAST_STEP = 2**62
_META = patterns.lazy(r"^(?P<key>status|start_time|end_time|run_id):\s*'?(?P<value>[^'\n]*)'?$", re.MULTILINE)


def sniff(path: Path, head: bytes) -> float:
    """By where the file lies and how its first line looks."""
    if head.startswith(MAGIC):
        known = b"latest_metrics" in head or "mlflow" in path.name or "mlruns" in path.parts
        return 0.9 if known or columns(path, "latest_metrics") else 0.0
    if path.name == "meta.yaml":
        return 1.0 if b"experiment_id:" in head or (b"run_id:" in head and b"status:" in head) else 0.0
    if sure := _of_metric(path, head):
        return sure
    return 0.9 if len(head) < 8192 and b"\0" not in head and _beside_run(path.parent) else 0.0


def _of_metric(path: Path, head: bytes) -> float:
    """How sure that it is the file of one metric, in its folder or taken out of it."""
    if "metrics" in path.parts[:-1] and _METRIC_LINE.match(head.split(b"\n", 1)[0].strip()):
        return 1.0
    return 0.8 if _STAMPED.match(head) else 0.0


def _beside_run(folder: Path) -> bool:
    """Whether it is a folder of settings or tags in that of a run."""
    return folder.name in ("params", "tags") and (folder.parent / "meta.yaml").exists()


def open_session(context: Context) -> Session:
    """Starts to read one file."""
    return Stored(context, _tables) if is_database(context.path) else Whole(context, _file)


def _file(context: Context, blob: bytes) -> Iterator[Record]:
    """One file of the file store."""
    path = Path(context.path)
    if path.name == "meta.yaml":
        yield from _meta(context, blob.decode("utf-8", "replace"))
    elif path.parent.name == "tags" and "metrics" not in path.parts:
        return  # names and notes, nothing that was measured or set
    elif path.parent.name == "params" and "metrics" not in path.parts:
        yield Fact(path.name, plain_value(blob.decode("utf-8", "replace").strip()), "config", context.path, 1)
    else:
        yield from _metric_file(context, blob)


def _metric_file(context: Context, blob: bytes) -> Iterator[Record]:
    """Lines of `<milliseconds> <value> <step>`; the name is the path below `metrics`."""
    parts = Path(context.path).parts
    place = len(parts) - 1 - parts[::-1].index("metrics") if "metrics" in parts else len(parts) - 2
    rows: list[tuple[int, float, float, int]] = []
    unread = LeftOut(context.path, "lines that are no metric")
    for number, line in enumerate(blob.split(b"\n"), 1):
        cells = line.split()
        try:
            step = int(cells[2]) if len(cells) > 2 else len(rows)
            if abs(step) > _LAST_STEP:
                raise OverflowError
            rows.append((step, float(cells[1]), int(cells[0]) / 1000, number))
        except (ValueError, IndexError, OverflowError):
            if line.strip():
                yield from unread.at(number, "the line is no metric and was left out")
    yield from unread.rest()
    if rows:
        steps, values, times, lines = (list(column) for column in zip(*rows, strict=True))
        source = "/".join(parts[:place])
        yield _points(
            context, "/".join(parts[place + 1 :]), steps, values, times, source, np.array(lines, np.int64)
        )


def _points(
    context: Context,
    metric: str,
    steps: list[int],
    values: list[float],
    times: list[float],
    source: str,
    lines: IntArray | None,
) -> Points:
    places: IntArray = np.array(steps, np.int64)
    numbers: FloatArray = np.array(values, np.float64)
    return Points(
        metric,
        places,
        numbers,
        np.array(times, np.float64),
        context.path,
        lines,
        context.rank,
        "step",
        3,
        source,
    )


def _meta(context: Context, text: str) -> Iterator[Event]:
    found = {match["key"]: match["value"].strip() for match in _META.finditer(text)}
    if "run_id" not in found:
        return  # that of the experiment
    yield from _run_events(context, found.get("status", ""), found.get("start_time"), found.get("end_time"))


def _run_events(context: Context, status: str, start: object, end: object) -> Iterator[Event]:
    began, ended = _seconds(start), _seconds(end)
    yield Event("start", context.path, time=began)
    if status in _STATUS:
        word = _STATUS[status]
        yield Event("end", context.path, time=ended, detail="crashed (FAILED)" if word == "failed" else word)


def _seconds(value: object) -> float:
    try:
        return float(str(value)) / 1000
    except ValueError:
        return math.nan


def runs(path: str) -> list[str]:
    """What to call the runs in a SQLite store, the newest last; none for files of the file store."""
    return held(path, _runs) if is_database(path) else []


def _runs(opened: sqlite3.Connection) -> list[Held]:
    named = any(row[1] == "name" for row in opened.execute("PRAGMA table_info(runs)"))
    query = f"SELECT run_uuid, {'name' if named else 'NULL'} FROM runs ORDER BY start_time"  # noqa: S608 (one of two words)
    return [Held(str(run), str(name or "")) for run, name in opened.execute(query)]


def _tables(context: Context, opened: sqlite3.Connection) -> Iterator[Record]:
    found = _runs(opened)
    if not found:
        return
    run = chosen(found, context.part, context.path).id
    times = opened.execute(
        "SELECT status, start_time, end_time FROM runs WHERE run_uuid = ?", (run,)
    ).fetchone()
    yield from _run_events(context, str(times[0]), times[1], times[2])
    for key, value in opened.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,)):
        yield Fact(str(key), plain_value(value), "config", context.path)
    names = [row[0] for row in opened.execute("SELECT DISTINCT key FROM metrics WHERE run_uuid = ?", (run,))]
    for name in names:
        query = (
            "SELECT step, value, is_nan, timestamp FROM metrics WHERE run_uuid = ? AND key = ? ORDER BY "
            "timestamp, step"
        )
        rows = list(rows_of(opened, query, (run, name), context.path))
        values = [_metric_value(row[1], row[2]) for row in rows]
        yield _points(
            context,
            name,
            [row[0] for row in rows],
            values,
            [row[3] / 1000 for row in rows],
            f"mlflow:{run}",
            None,
        )


def _metric_value(value: float, is_nan: int) -> float:
    if is_nan:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) > _LARGEST else float(value)
