"""What a file is by its beginning: the source that a reader takes it for, if any does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from hrmdoc import readers
from hrmdoc.readers.sources import remote
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.sources.walk import MAX_FILES
from hrmdoc.readers.support import names
from hrmdoc.readers.support.decode import codec_of, damage_in, plain_head
from hrmdoc.record.records import Damage

HEAD = 1 << 16


class Heads(Protocol):
    """What is known of files from an earlier search: their beginning need not be read again."""

    def known(self, path: str, identity: str) -> tuple[str, str] | None:
        """Reader and codec of a file as it is, the reader empty where there is none; None when not known."""
        ...

    def learn(self, path: str, identity: str, reader: str, codec: str) -> None:
        """Keeps what its beginning showed."""
        ...


class Listing(Struct, frozen=True):
    """How paths are looked through.

    Attributes:
        heads: what is known of files; None looks into each.
        most: files that are looked at below one folder.
    """

    heads: Heads | None = None
    most: int = MAX_FILES


class Search(Struct):
    """One search through several paths: which files were met, and what was passed by.

    Attributes:
        several: more than one path was named; one that is there and can be no record is then passed by.
    """

    unpacking: bool
    how: Listing
    several: bool = False
    noted: list[Damage] = field(default_factory=list)
    seen: set[tuple[object, ...]] = field(default_factory=set)


def source_of(path: str, status: os.stat_result, search: Search, *, explicit: bool) -> Iterator[Source]:
    """The source that one file is, or nothing. A file that the user named gets a note when nobody wants
    it."""
    if (status.st_dev, status.st_ino) in search.seen:
        return
    search.seen.add((status.st_dev, status.st_ino))
    entry = remote.Entry(path, status.st_size, status.st_mtime, identity_of(status))
    heads = search.how.heads
    if heads is not None and not explicit and (known := heads.known(path, entry.identity)):
        yield from taken_as(entry, *known)
        return
    try:
        head = read_head(path)
    except OSError as error:
        search.noted.append(Damage(path, None, f"cannot be read: {error.strerror}", incomplete=True))
        return
    yield from sniffed(entry, head, search, explicit=explicit)


def identity_of(status: os.stat_result) -> str:
    """Changes whenever the content of a file does: size, time of change, place on its disk."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_dev}"


def sniffed(entry: remote.Entry, head: bytes, search: Search, *, explicit: bool) -> Iterator[Source]:
    """The source that begins with `head`; what was found is kept for the next search."""
    path = entry.path
    plain, codec = plain_head(head), codec_of(head)
    chosen = readers.choose(Path(names.plain_name(path)), plain) if plain else None
    if explicit and (chosen is None or chosen.NAME == "text") and names.holds_weights(path):
        search.noted.append(Damage(path, None, "holds weights or arrays, not the record of a run"))
        return
    if not explicit and (what := damage_in(head)):  # not kept: a second search is to say it too
        search.noted.append(Damage(path, None, f"cannot be read: {what}", incomplete=True))
        return
    reader = "" if chosen is None else chosen.NAME
    if search.how.heads is not None:
        search.how.heads.learn(path, entry.identity, reader, codec)
    if chosen is None:
        search.noted += _passed_over(path, head, codec, explicit=explicit)
    yield from taken_as(entry, reader, codec)


def taken_as(entry: remote.Entry, reader: str, codec: str) -> Iterator[Source]:
    """The source as its reader takes it; nothing where there is none."""
    slashed = entry.path.replace(os.sep, "/")
    if reader:
        yield Source(
            path=entry.path,
            reader=reader,
            logger=names.logger_of(slashed, reader),
            rank=names.rank_in(slashed),
            started=names.started_in(slashed) or entry.mtime,
            mtime=entry.mtime,
            size=entry.size,
            codec=codec,
            identity=entry.identity,
        )


def is_database(source: Source) -> bool:
    """Whether its reader opens it by name, and so cannot read it where it is not."""
    reader = readers.reader(source.reader)
    return reader.WHOLE and hasattr(reader, "runs")


def _passed_over(path: str, head: bytes, codec: str, *, explicit: bool) -> list[Damage]:
    """What is to be said of a file that no reader wants."""
    if not head and (explicit or path.endswith((".log", ".jsonl", ".csv"))):
        return [Damage(path, None, "is empty")]
    return [Damage(path, None, _unread(head, codec))] if explicit else []


def _unread(head: bytes, codec: str) -> str:
    """Why a file that the user named is read by no reader."""
    if codec and not codec.startswith("utf") and not plain_head(head):
        return f"begins as {codec} data, which is damaged from its start: nothing could be unpacked"
    return "is in no format that hrmdoc knows" + (" (binary data)" if b"\0" in head else "")


def read_head(path: str) -> bytes:
    """The beginning of a file, here or in object storage.

    Raises:
        OSError: it cannot be read.
    """
    if remote.is_remote(path):
        return remote.head(path, HEAD)
    with open(path, "rb", buffering=0) as file:
        return file.read(HEAD)
