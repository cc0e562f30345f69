"""Opens the SQLite store of a tracker without writing to it or beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from hrmdoc.readers.base import Context
from hrmdoc.run import Damage, Record

MAGIC = b"SQLite format 3\0"
JOURNALS = ("-wal", "-journal")
"""Endings of the files in which SQLite keeps what is not in the database yet."""

if TYPE_CHECKING:
    import sqlite3

    Tables = Callable[[Context, sqlite3.Connection], Iterator[Record]]


class Stored:
    """A session of a database: it is opened by its name once bytes of it have come.

    Args:
        context: the file.
        tables: gives the records of the opened database.
    """

    def __init__(self, context: Context, tables: Tables) -> None:
        self._context = context
        self._tables = tables
        self._begun = False

    def feed(self, data: bytes) -> Iterator[Record]:
        """Nothing yet."""
        self._begun = self._begun or bool(data)
        yield from ()

    def close(self) -> Iterator[Record]:
        """Everything."""
        if self._begun:
            yield from database(self._context, self._tables)


def is_database(path: str) -> bool:
    """Whether the file is there and begins as databases do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def columns(path: Path, table: str) -> set[str]:
    """The columns of a table; none when the file has no such table, or is not there."""
    import sqlite3

    try:
        with closing(_opened(_in_place(path))) as opened:
            return {str(row[1]) for row in opened.execute(f"PRAGMA table_info({table})")}
    except (sqlite3.Error, OSError, ValueError):
        return set()


def _opened(uri: str) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(uri, uri=True, timeout=2)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _in_place(path: Path) -> str:
    from urllib.parse import quote

    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def database(context: Context, tables: Tables) -> Iterator[Record]:
    """What `tables` reads, in place when nothing is pending, else from a copy: opening a journal would write beside the file."""
    import shutil
    import sqlite3
    import tempfile
    from urllib.parse import quote

    path = Path(context.path)
    journals = [path.with_name(path.name + suffix) for suffix in JOURNALS]
    pending = [journal for journal in journals if journal.exists()]
    try:
        if not pending:
            yield from _read(context, _in_place(path), tables)
            return
        with tempfile.TemporaryDirectory() as folder:
            for one in (path, *pending):
                shutil.copy(one, folder)
            yield from _read(context, f"file:{quote(str(Path(folder) / path.name))}?mode=rw", tables)
    except (sqlite3.Error, OSError) as error:
        yield Damage(context.path, None, f"the database cannot be read: {error}")
    except (TypeError, ValueError, OverflowError) as error:  # a damaged page gives cells of any type
        yield Damage(context.path, None, f"the database is damaged: {error}")


def _read(context: Context, uri: str, tables: Tables) -> Iterator[Record]:
    with closing(_opened(uri)) as opened:
        yield from tables(context, opened)
