"""Opens the SQLite store of a tracker without writing to it or beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hrmdoc.errors import InputError
from hrmdoc.readers.support import sqlite_guard
from hrmdoc.readers.support.base import Context
from hrmdoc.readers.support.budget import MAX_HEADER
from hrmdoc.record.records import Damage, Record

MAGIC = b"SQLite format 3\0"
_NAMED = 10
_LIST_SECONDS = 20.0  # to see which tables and runs there are

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


class Held(NamedTuple):
    """A run in a database: what it is found by, and what people call it."""

    id: str
    name: str


def spoken(runs: Sequence[Held]) -> list[str]:
    """What to call each run so that it is found again: its name, or its id where it has none or shares it."""
    counted = Counter(run.name for run in runs)
    return [run.name if run.name and counted[run.name] == 1 else run.id for run in runs]


def chosen(runs: Sequence[Held], part: str, path: str) -> Held:
    """The run that `part` names, by its name or the beginning of its id; the last one when it is empty.

    Raises:
        InputError: there is no such run, or `part` may be several.
    """
    if not part:
        return runs[-1]
    found = [run for run in runs if part in (run.id, run.name)] or [
        run for run in runs if run.id.startswith(part)
    ]
    if len(found) != 1:
        names = ", ".join(reversed(spoken(runs)[-_NAMED:])) + (", …" if len(runs) > _NAMED else "")
        what = "several runs in it have an id that begins with" if found else "no run in it is called"
        raise InputError(f"{what} {part!r}; it holds {names}", file=path)
    return found[0]


def held(path: str, list_runs: Callable[[sqlite3.Connection], list[Held]]) -> list[str]:
    """What to call the runs in a database, the newest last; none when it cannot be read."""
    import sqlite3

    try:
        with closing(sqlite_guard.opened(_in_place(Path(path)), _LIST_SECONDS)) as opened:
            return spoken(list_runs(opened))
    except (sqlite3.Error, OSError, TypeError, ValueError):
        return []


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
        with closing(sqlite_guard.opened(_in_place(path), _LIST_SECONDS)) as opened:
            return {str(row[1]) for row in opened.execute(f"PRAGMA table_info({table})")}
    except (sqlite3.Error, OSError, ValueError):
        return set()


def _in_place(path: Path) -> str:
    from urllib.parse import quote

    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def database(context: Context, tables: Tables) -> Iterator[Record]:
    """What `tables` reads, in place when nothing is pending, else from a copy: opening a journal would write
    beside the file."""
    import shutil
    import sqlite3
    import tempfile
    from urllib.parse import quote

    path = Path(context.path)
    try:
        journals, refused = sqlite_guard.pending(path)
        yield from refused
        if not journals:
            yield from _read(context, _in_place(path), tables)
            return
        with tempfile.TemporaryDirectory() as folder:
            for one in (path, *journals):
                shutil.copyfile(one, Path(folder) / one.name, follow_symlinks=one == path)
            yield from _read(context, f"file:{quote(str(Path(folder) / path.name))}?mode=rw", tables)
    except (sqlite3.Error, OSError) as error:
        why = "it took too long" if str(error) == "interrupted" else str(error)
        yield Damage(context.path, None, f"the database cannot be read to its end: {why}", incomplete=True)
    except (TypeError, ValueError, OverflowError) as error:  # a damaged page gives cells of any type
        yield Damage(context.path, None, f"the database is damaged: {error}", incomplete=True)


def _read(context: Context, uri: str, tables: Tables) -> Iterator[Record]:
    path = Path(context.path)
    with closing(sqlite_guard.opened(uri, sqlite_guard.seconds_for(path))) as opened:
        yield from tables(context, opened)


def rows(opened: sqlite3.Connection, query: str, values: Sequence[object], path: str) -> Iterator[Any]:
    """What a query gives; each row takes a byte of the file at least.

    Raises:
        ValueError: there are more, since pages of a hostile file lead back to each other.
    """
    most = Path(path).stat().st_size + MAX_HEADER
    for number, row in enumerate(opened.execute(query, values)):
        if number > most:
            raise ValueError("it gives more rows than it has bytes")
        yield row
