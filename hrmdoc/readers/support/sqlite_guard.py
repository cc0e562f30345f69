"""Opens a SQLite database that somebody else made: tables are read and nothing else of it is run.

A schema is a program: views, generated columns and triggers may compute for ever or build texts of
gigabytes. They are refused, texts are limited in length, and a query ends when its time is over. A journal
may name a file that SQLite deletes after it has played the journal, so such a journal is not played.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hrmdoc.readers.support.budget import MAX_JOURNAL, MAX_LINE, Budget
from hrmdoc.record.records import Damage

if TYPE_CHECKING:
    import sqlite3

_FUNCTIONS = frozenset({"max", "min", "count"})
_PRAGMAS = frozenset({"table_info"})
_LOOK_EVERY = 100_000  # steps of SQLite's machine
_NAMES_A_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_JOURNALS = ("-wal", "-journal")
"""Endings of the files in which SQLite keeps what is not in the database yet."""


def opened(uri: str, seconds: float) -> sqlite3.Connection:
    """A connection through which nothing but tables can be read, for so many seconds.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    import sqlite3

    connection = sqlite3.connect(uri, uri=True, timeout=2)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE)
    connection.set_authorizer(_allowed())
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, _LOOK_EVERY)
    return connection


def _allowed() -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    import sqlite3

    def decide(
        action: int, first: str | None, second: str | None, database: str | None, inside: str | None
    ) -> int:
        """Whether SQLite may do this; `inside` names the view or trigger that asks for it."""
        del database
        right = inside is None and (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
            or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS)
            or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS)
        )
        return sqlite3.SQLITE_OK if right else sqlite3.SQLITE_DENY

    return decide


def seconds_for(path: Path) -> float:
    """How long queries on a database of this size may take."""
    return Budget(str(path), path.stat().st_size).seconds_left


def pending(path: Path) -> tuple[list[Path], list[Damage]]:
    """The journals of a database that may be played on a copy, and what is said of those that may not."""
    usable: list[Path] = []
    refused: list[Damage] = []
    for journal in (path.with_name(path.name + ending) for ending in _JOURNALS):
        try:
            status = journal.lstat()
        except OSError:
            continue
        why = ""
        if not stat.S_ISREG(status.st_mode):
            why = "it is no regular file"
        elif status.st_size > MAX_JOURNAL:
            why = f"it is larger than {MAX_JOURNAL >> 30} GiB"
        elif _names_another(journal, status.st_size):
            why = "it names another journal, of a transaction over several databases"
        if why:
            what = f"what is only in the journal {journal.name} was not read: {why}"
            refused.append(Damage(str(path), None, what, incomplete=True))
        elif status.st_size:
            usable.append(journal)
    return usable, refused


def _names_another(journal: Path, size: int) -> bool:
    with journal.open("rb") as file:
        if journal.name.endswith("-journal"):
            file.seek(max(0, size - len(_NAMES_A_SUPER_JOURNAL)))
            return file.read() == _NAMES_A_SUPER_JOURNAL
    return False
