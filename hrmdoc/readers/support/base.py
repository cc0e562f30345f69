"""The interface of every reader: a module of `hrmdoc/readers` with `NAME`, `TITLE`, `WHOLE`, `sniff` and
`open_session`.

A session takes bytes as they come (a whole file in blocks, or what a live run has just appended), keeps what
is torn at the end, and yields records. However the bytes are cut, the records are the same; a test holds
every reader to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hrmdoc.record.records import Record


def nothing_wanted(block: bytes) -> Iterable[int]:
    """The literal search of a caller that asks for no lines."""
    del block
    return ()


class Context(Struct, frozen=True):
    """What a session may know beside its bytes.

    Attributes:
        path: the file (for messages and `Record.file`); `-` is standard input.
        source: the logger that the points belong to; several files of one logger share it.
        rank: the rank that the file's name or folder gives, else None.
        wanted: positions of the literals that signatures ask for in a block of bytes; lines that hold one are
            kept.
        settings: names of settings, in lower case, that programs print before they train.
        mtime: the file's modification time, Unix seconds; the year for time stamps that carry none.
        part: which run of a database the user named; empty for the newest.
    """

    path: str
    source: str = ""
    rank: int | None = None
    wanted: Callable[[bytes], Iterable[int]] = nothing_wanted
    settings: frozenset[str] = frozenset()
    mtime: float = 0.0
    part: str = ""


class Session(Protocol):
    """One file being read."""

    def feed(self, data: bytes) -> Iterable[Record]:
        """Records that the new bytes complete."""
        ...

    def close(self) -> Iterable[Record]:
        """Records that were held back: the source has ended."""
        ...


class Opened(Session, Protocol):
    """A session with its decoder."""

    @property
    def lines(self) -> int:
        """How many lines of text have ended so far; 0 for formats that are no logs."""
        ...


class Reader(Protocol):
    """What a reader module offers.

    `WHOLE` says that the file is rewritten rather than appended to (JSON, SQLite): live it is read again from
    its start. A reader of databases, which hold several runs in one file, has `runs(path)` too: their names,
    the newest last.
    """

    NAME: str
    TITLE: str
    WHOLE: bool

    def sniff(self, path: Path, head: bytes) -> float:
        """How sure this reader is, 0 to 1, from the name and the first 64 KiB."""
        ...

    def open_session(self, context: Context) -> Session:
        """Starts to read one file."""
        ...


_RANK_IN_NAME = re.compile(r"(?:^|[._-])(?:global)?(?:rank|worker)[._-]?(\d{1,5})(?=\D|$)", re.IGNORECASE)


def rank_of(path: Path) -> int | None:
    """The rank that a file's name gives (`rank3.log`, `log.rank-12.txt`), else None."""
    found = _RANK_IN_NAME.search(path.name)
    return int(found.group(1)) if found else None
