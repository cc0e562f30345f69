"""Trackio: the SQLite store of a project (`<project>.db`), whose rows hold JSON. Of several runs the newest
is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.flatten import flat_facts
from hrmdoc.readers.support.left_out import LeftOut
from hrmdoc.readers.support.sqlite import MAGIC, Held, Stored, chosen, columns, held
from hrmdoc.readers.support.sqlite import rows as rows_of
from hrmdoc.readers.tables.rows import Rows
from hrmdoc.record.records import Damage, Event, Fact, Record

if TYPE_CHECKING:
    import sqlite3

NAME = "trackio"
TITLE = "Trackio (SQLite)"
WHOLE = True

# What is put into the queries below is one of two names of a column.
_BLOCK = 4096  # rows that are made into points at once


def sniff(path: Path, head: bytes) -> float:
    """By the columns of its tables, or where it lies while the tables are still in the journal."""
    if not head.startswith(MAGIC):
        return 0.0
    if columns(path, "metrics") >= {"run_name", "step", "metrics"}:
        return 0.95
    return 0.6 if path.suffix == ".db" and any("trackio" in part.lower() for part in path.parts[:-1]) else 0.0


def open_session(context: Context) -> Stored:
    """Starts to read one file."""
    return Stored(context, _tables)


def runs(path: str) -> list[str]:
    """What to call the runs in a store, the newest last."""
    return held(path, _runs)


def _key(opened: sqlite3.Connection) -> str:
    """What distinguishes runs: older stores know them by name alone."""
    return (
        "run_id"
        if any(row[1] == "run_id" for row in opened.execute("PRAGMA table_info(metrics)"))
        else "run_name"
    )


def _runs(opened: sqlite3.Connection) -> list[Held]:
    key = _key(opened)
    query = f"SELECT {key}, max(run_name) FROM metrics GROUP BY {key} ORDER BY max(id)"  # noqa: S608
    return [Held(str(run), str(name or "")) for run, name in opened.execute(query)]


def _tables(context: Context, opened: sqlite3.Connection) -> Iterator[Record]:
    found = _runs(opened)
    if not found:
        return
    key, newest = _key(opened), chosen(found, context.part, context.path).id
    yield Event("start", context.path)
    yield from _config(context, opened, key, newest)
    rows = _Joined(context)
    query = f"SELECT step, timestamp, metrics FROM metrics WHERE {key} = ? ORDER BY id"  # noqa: S608
    for number, (step, time, text) in enumerate(rows_of(opened, query, (newest,), context.path), 1):
        yield from rows.add(number, step, time, text)
        if number % _BLOCK == 0:
            yield from rows.metrics.points()
    yield from rows.metrics.points()
    yield from rows.metrics.rest()
    yield from _machine(context, opened, key, newest, rows)
    yield from rows.broken.rest()


class _Joined:
    """Rows of metrics, and which step was reached when."""

    def __init__(self, context: Context) -> None:
        self.metrics = Rows(context, precision=3)
        self.broken = LeftOut(context.path, "rows that hold no JSON object")
        self._times: list[str] = []
        """When the steps below were written (ISO 8601, all in UTC), in order of time."""
        self._steps: list[int] = []

    def add(self, number: int, step: Any, time: Any, text: Any) -> Iterator[Damage]:
        """Takes in a row of the table; its number stands for the line."""
        row = _object(text)
        if row is None or not isinstance(step, int):
            yield from self.broken.at(number, "the row holds no JSON object and was left out")
            return
        if not self._times or str(time) >= self._times[-1]:
            self._times.append(str(time))
            self._steps.append(step)
        self.metrics.add({**row, "_step": step, "_timestamp": str(time)}, number)

    def step_at(self, time: str) -> int:
        """The step that was written last before a time (ISO 8601, all in UTC)."""
        at = bisect_right(self._times, time)
        return self._steps[at - 1] if at else 0


def _config(context: Context, opened: sqlite3.Connection, key: str, run: Any) -> Iterator[Fact | Damage]:
    if not _has(opened, "configs"):
        return
    for (text,) in opened.execute(f"SELECT config FROM configs WHERE {key} = ?", (run,)):  # noqa: S608
        own = {name: value for name, value in (_object(text) or {}).items() if not name.startswith("_")}
        yield from flat_facts(own, context.path)


def _machine(
    context: Context, opened: sqlite3.Connection, key: str, run: Any, joined: _Joined
) -> Iterator[Record]:
    """Use of the machine, which is written without a step: it stands at the step that was reached."""
    if not _has(opened, "system_metrics"):
        return
    rows = Rows(context, precision=3)
    query = f"SELECT timestamp, metrics FROM system_metrics WHERE {key} = ? ORDER BY id"  # noqa: S608
    for number, (time, text) in enumerate(rows_of(opened, query, (run,), context.path), 1):
        row = _object(text)
        if row is None:
            yield from joined.broken.at(number, "the row holds no JSON object and was left out")
            continue
        named = {f"system/{name}": value for name, value in row.items()}
        rows.add({**named, "_step": joined.step_at(str(time)), "_timestamp": str(time)}, number)
        if number % _BLOCK == 0:
            yield from rows.points()
    yield from rows.points()
    yield from rows.rest()


def _has(opened: sqlite3.Connection, table: str) -> bool:
    with closing(
        opened.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    ) as found:
        return found.fetchone() is not None


def _object(text: Any) -> dict[str, Any] | None:
    """A cell as a mapping; None when it is none."""
    try:
        found = json_text.loads(text if isinstance(text, bytes) else str(text).encode())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
