"""What was found before: summaries by the content of the run and the version of the rules, and which reader
takes which file, in one SQLite file of the user's cache folder.

A result holds as long as no file of the run, no rule, no setting and nothing of hrmdoc itself has changed.
What it says of the runs beside it is as of then.
The cache can be deleted at any time; one that cannot be written or read costs time, never an error.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec

from hrmdoc import __version__, readers
from hrmdoc.fleet.summary import FORMAT, Summary
from hrmdoc.fleet.work import Request
from hrmdoc.paths import cache_dir
from hrmdoc.readers import RunGroup
from hrmdoc.rulebook import state_of

KEPT_DAYS = 90
FRESH = 3600.0
"""Seconds for which a result holds of a run that may still be going on: whether it fell silent changes with
the clock, not with its files."""
SETTLED = 86_400.0
"""Seconds after the last record from which on a run no longer counts as one that is watched."""
_AT_ONCE = 500
BUSY_S = 1.0
"""Seconds that one statement waits for another process."""
_FOREIGN = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)
"""What decoding something raises that this never wrote."""
_TABLES = """
create table if not exists results (key blob primary key, at real, until real, summary blob) without rowid;
create table if not exists heads (path text primary key, identity text, reader text, codec text, at real)
  without rowid;
create table if not exists triages (what blob primary key, at real, rows blob) without rowid;
create table if not exists lines (place blob primary key, at real, key blob, line blob) without rowid;
"""


class Seen(msgspec.Struct, frozen=True):
    """What a triage found of one run, for the next one to compare with."""

    verdict: str
    failure_mode: str
    headline: str


class Store:
    """The cache, open. It serves as `find.Heads` too.

    Args:
        path: the file; by default in the user's cache folder. None keeps nothing beyond this process.
    """

    def __init__(self, path: Path | None = None, *, kept: bool = True) -> None:
        self._learnt: list[tuple[str, str, str, str, float]] = []
        self._heads: dict[str, tuple[str, str, str]] | None = None
        chosen = path or cache_dir() / "fleet.sqlite"
        self._database = _opened(chosen if kept else None)

    def known(self, path: str, identity: str) -> tuple[str, str] | None:
        """Reader and codec of a file as it is; None when not known."""
        if self._heads is None:
            with self._trying():
                rows = self._database.execute("select path, identity, reader, codec from heads")
                self._heads = {row[0]: (row[1], row[2], row[3]) for row in rows}
        found = (self._heads or {}).get(_whole(path))
        if found is None or found[0] != identity or found[1] not in ("", *readers.names()):
            return None
        return found[1], found[2]

    def learn(self, path: str, identity: str, reader: str, codec: str) -> None:
        """Keeps which reader takes a file."""
        self._learnt.append((_whole(path), identity, reader, codec, time.time()))

    def results(self, keys: Sequence[bytes]) -> dict[bytes, Summary]:
        """The summaries that still hold, by key."""
        found: dict[bytes, Summary] = {}
        decoder = msgspec.msgpack.Decoder(Summary)
        now = time.time()
        for batch in _batches(keys):
            asked = f"select key, summary from results where until > ? and key in ({_marks(batch)})"  # noqa: S608 (marks alone)
            with self._trying():
                for key, blob in self._database.execute(asked, (now, *batch)):
                    with suppress(*_FOREIGN):
                        found[key] = decoder.decode(blob)
        return found

    def keep(self, key: bytes, summary: Summary, written: float) -> None:
        """Keeps a summary of a run whose newest file was `written` then, Unix seconds. It is on disk when
        this returns, so that a triage that is broken off goes on from there."""
        now = time.time()
        ended = summary.state in ("finished", "crashed") or now - written > SETTLED
        until = now + (KEPT_DAYS * 86_400.0 if ended else FRESH)
        with self._trying():
            row = (key, now, until, msgspec.msgpack.encode(summary))
            self._database.execute("insert or replace into results values (?, ?, ?, ?)", row)

    def last_triage(self, what: bytes) -> tuple[float, dict[str, Seen]]:
        """When these paths were last examined, and what was said of each run; 0 and nothing where they never
        were."""
        with self._trying():
            for at, rows in self._database.execute("select at, rows from triages where what = ?", (what,)):
                with suppress(*_FOREIGN):
                    return float(at), msgspec.msgpack.decode(rows, type=dict[str, Seen])
        return 0.0, {}

    def note_triage(self, what: bytes, rows: Mapping[str, Seen]) -> None:
        """Keeps what this triage found."""
        with self._trying():
            blob = msgspec.msgpack.encode({_as_unicode(name): row for name, row in rows.items()})
            self._database.execute(
                "insert or replace into triages values (?, ?, ?)", (what, time.time(), blob)
            )

    def lines(self, places: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """What a page showed of the runs at these places, each with the key of what it was made of."""
        found: dict[bytes, tuple[bytes, bytes]] = {}
        for batch in _batches(places):
            asked = f"select place, key, line from lines where place in ({_marks(batch)})"  # noqa: S608 (marks alone)
            with self._trying():
                for place, key, line in self._database.execute(asked, batch):
                    if isinstance(key, bytes) and isinstance(line, bytes):
                        found[place] = key, line
        return found

    def keep_line(self, place: bytes, key: bytes, line: bytes) -> None:
        """Keeps what a page shows of a run, in the place of what it showed before."""
        with self._trying():
            self._database.execute(
                "insert or replace into lines values (?, ?, ?, ?)", (place, time.time(), key, line)
            )

    def close(self) -> None:
        """Writes what is left, and drops what is too old to be asked for."""
        oldest = time.time() - KEPT_DAYS * 86_400.0
        with self._trying():
            self._database.execute("begin")
            self._database.executemany("insert or replace into heads values (?, ?, ?, ?, ?)", self._learnt)
            self._database.execute("delete from results where until < ?", (time.time(),))
            for table in ("heads", "triages", "lines"):
                self._database.execute(f"delete from {table} where at < ?", (oldest,))  # noqa: S608 (own names)
            self._database.execute("commit")
        self._learnt.clear()
        with suppress(sqlite3.Error):
            self._database.close()

    @contextmanager
    def _trying(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError:  # locked by another, on a full disk or one that has gone
            self._database = _opened(None)
        except (sqlite3.Error, UnicodeError):  # a name that is no UTF-8 is asked for anew each time
            pass


def _opened(path: Path | None) -> sqlite3.Connection:
    """The database; one that is damaged is made anew, and where there is no place for one it is kept in
    memory."""
    for again in (False, True):
        if path is None:
            break
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if again:
                path.unlink(missing_ok=True)
            made = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            if made.execute(
                "select count(*) from sqlite_schema where type not in ('table', 'index')"
            ).fetchone()[0]:
                raise sqlite3.DatabaseError("a view or a trigger can work without end")
            made.execute("pragma journal_mode = wal")
            made.execute("pragma synchronous = normal")
            made.executescript(_TABLES)
        except (OSError, sqlite3.OperationalError):  # no place for it, or another process has it
            break
        except sqlite3.Error:
            continue
        return made
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.executescript(_TABLES)
    return made


def keys(groups: Iterable[RunGroup], request: Request) -> list[bytes]:
    """The key of each run: its files as they are, the rules, the settings, and hrmdoc itself."""
    base = base_of(request)
    return [_key(group, base) for group in groups]


def base_of(request: Request) -> bytes:
    """What every result depends on: the rules, the settings, what was asked, and hrmdoc itself."""
    asked = (__version__, FORMAT, _code(), state_of(map(Path, request.settings.rules)))
    return msgspec.msgpack.encode(
        (asked, request.settings, request.stated, request.extra, request.compare),
        order="sorted",
        enc_hook=repr,
    )


def _batches(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """So many at a time as one statement may ask for."""
    return (keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE))


def _marks(batch: Sequence[bytes]) -> str:
    return ",".join("?" * len(batch))


def _key(group: RunGroup, base: bytes) -> bytes:
    files = [(source.path, source.part, source.reader, source.identity) for source in group.sources]
    whole = repr((group.folder, group.before, files)).encode(errors="backslashreplace")
    return hashlib.blake2b(
        os.getcwdb() + b"\0" + whole, key=hashlib.blake2b(base).digest(), digest_size=20
    ).digest()


def _whole(path: str) -> str:
    return _as_unicode(path if "://" in path else os.path.abspath(path))


def _as_unicode(path: str) -> str:
    """A path as a database takes it: a name of a file may hold any bytes."""
    return path.encode(errors="backslashreplace").decode()


@cache
def _code() -> bytes:
    """Changes with the code of hrmdoc, which a development install changes without its version."""
    root = Path(__file__).parents[1]
    newest = max((file.stat().st_mtime_ns for file in root.rglob("*.py")), default=0)
    return f"{root}-{newest}".encode()
