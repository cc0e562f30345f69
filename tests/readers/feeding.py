"""Bytes through a reader's session, and what came out as curves that compare; for the tests of readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from hrmdoc import readers, rulebook
from hrmdoc.readers.support.base import Session
from hrmdoc.record.records import Points, Record
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap


def fed(session: Session, blob: bytes, cuts: Iterable[int] = ()) -> list[Record]:
    """What the session reads from `blob`, which it gets in pieces: cut at these offsets, in their order."""
    pieces = [blob[start:end] for start, end in pairwise((0, *cuts, len(blob)))]
    return [*(record for piece in pieces for record in session.feed(piece)), *session.close()]


def curves(records: Iterable[Record]) -> dict[str, list[tuple[int, str]]]:
    """Each metric's points as step and spelled value, so that NaN equals NaN."""
    found: dict[str, list[tuple[int, str]]] = {}
    for record in records:
        if isinstance(record, Points):
            found.setdefault(record.metric, []).extend(
                zip(record.steps.tolist(), map(repr, record.values.tolist()), strict=True)
            )
    return found


def run_of(folder: Path, name: str, text: str) -> Run:
    """The run that one file makes, with its roles."""
    (folder / name).write_text(text)
    run = Run(role_of=RoleMap(rulebook.load()))
    readers.read_into(run, readers.discover(folder))
    return run


def database(path: Path) -> Path:
    """A SQLite store of MLflow with two runs, `old` and `new`."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (run_uuid, status, start_time INTEGER, end_time INTEGER)")
        db.execute("CREATE TABLE params (key, value, run_uuid)")
        db.execute(
            "CREATE TABLE metrics (key, value REAL, timestamp INTEGER, run_uuid, step INTEGER, is_nan "
            "INTEGER)"
        )
        db.execute("CREATE TABLE latest_metrics (key)")
        db.executemany(
            "INSERT INTO runs VALUES (?,?,?,?)",
            [("old", "FINISHED", 1, 2), ("new", "RUNNING", 1700000000000, None)],
        )
        db.execute("INSERT INTO params VALUES ('lr', '0.1', 'new')")
        rows = [
            ("loss", 2.0, 1, "new", 1, 0),
            ("loss", 0.0, 2, "new", 2, 1),
            ("loss", 1.797e308, 3, "new", 3, 0),
            ("loss", 9.0, 1, "old", 1, 0),
        ]
        db.executemany("INSERT INTO metrics VALUES (?,?,?,?,?,?)", rows)
    db.close()
    return path
