"""Finds what a path holds: files, folders walked to a bounded depth, standard input."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from hrmdoc import readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.paths import instead_of
from hrmdoc.readers.sources import archives, remote, tracked
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.sources.walk import MAX_FILES, files_below
from hrmdoc.readers.support import names
from hrmdoc.readers.support.decode import codec_of, plain_head
from hrmdoc.record.records import Damage

HEAD = 1 << 16
_STATE_STEP = re.compile(rb'"global_step":\s*(\d+)')
_LATE_READERS = frozenset(
    {"configs", "run_json"}
)  # the file that a user edits has the last word on a config value

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


def discover(paths: Paths, problems: list[Damage] | None = None, *, unpacking: bool = False) -> list[Source]:
    """Every readable source of a run, in the order in which they are to be read.

    Args:
        paths: files, folders or `-` (standard input), one or several.
        problems: receives what was passed by although it looked like part of a run (unreadable, empty,
            unknown, too many).
        unpacking: a zip or tar file that was named is unpacked and walked as a folder; `logs.zip/run-2` names
            a part of it.

    Raises:
        InputError: a named path does not exist or is no file or folder, or nothing at all can be read.
        UsageError: an archive was named where none can be read.
    """
    named = [paths] if isinstance(paths, str | PathLike) else list(paths)
    each = discover_each(named, problems, unpacking=unpacking)
    return sorted(_newest_states([source for _, sources in each for source in sources]), key=_order)


class Heads(Protocol):
    """What is known of files from an earlier look: their beginning need not be read again."""

    def known(self, path: str, identity: str) -> tuple[str, str] | None:
        """Reader and codec of a file as it is, the reader empty where there is none; None when not known."""
        ...

    def learn(self, path: str, identity: str, reader: str, codec: str) -> None:
        """Keeps what a look at its beginning found."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """How paths are looked through.

    Attributes:
        heads: what is known of files; None looks into each.
        most: files that are looked at below one folder.
    """

    heads: Heads | None = None
    most: int = MAX_FILES


@dataclasses.dataclass(slots=True)
class _Search:
    """One look through several paths: which files were met, and what was passed by."""

    unpacking: bool
    how: Listing
    noted: list[Damage] = dataclasses.field(default_factory=list)
    seen: set[tuple[object, ...]] = dataclasses.field(default_factory=set)


def discover_each(
    named: Iterable[str | PathLike[str]],
    problems: list[Damage] | None = None,
    *,
    unpacking: bool = False,
    how: Listing | None = None,
) -> list[tuple[str, list[Source]]]:
    """As `discover`, by the path that was named; a file that two of them hold counts for the first."""
    paths = [os.fspath(path) for path in named]
    if not paths:
        raise InputError("no path was given")
    search = _Search(unpacking, how or Listing())
    noted = search.noted
    found = [(path, list(_named(path, search))) for path in paths]
    if problems is not None:
        problems += noted
    if not any(sources for _, sources in found):
        first = noted[0] if noted else None
        raise InputError(
            first.what if first else "holds no log, event file or table that hrmdoc can read",
            file=first.file if first else paths[0],
            hint="`hrmdoc formats` lists what can be read",
        )
    return [(path, sorted(_newest_states(sources), key=_order)) for path, sources in found]


def _named(path: str, search: _Search) -> Iterator[Source]:
    """Sources of one path that the user named."""
    if path == STDIN:
        yield Source(STDIN, "", STDIN)
        return
    if not path:
        raise InputError("a path is empty", hint="is the variable that should name it set?")
    if remote.is_remote(path):
        yield from _in_storage(path, search)
        return
    if tracked.is_tracked(path):
        yield from _on_server(path, search)
        return
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        if inside := list(_one_run(path, search)):
            yield from inside
            return
        if (holder := archives.holder_of(path)) and _is_archive(holder[0]):
            yield from _packed(*holder, search)
            return
        raise InputError(
            _missing(path) if isinstance(error, FileNotFoundError) else f"cannot be read: {error}",
            hint=instead_of(path),
            file=path,
        ) from error
    if stat.S_ISDIR(status.st_mode):
        yield from _walk(path, search)
    elif stat.S_ISREG(status.st_mode) and _is_archive(path):
        yield from _packed(path, "", search)
    elif stat.S_ISREG(status.st_mode):
        yield from _file(path, status, search, explicit=True)
    else:
        raise InputError(
            "is a pipe, socket or device, not a file",
            file=path,
            hint="to read a stream, pass `-` and redirect it to standard input",
        )


def _missing(path: str) -> str:
    """That there is nothing, and of a link to what."""
    if os.path.islink(path):
        return f"is a link to {os.readlink(path)!r}, which is not there"
    return "no such file or folder"


def _is_archive(path: str) -> bool:
    try:
        return archives.is_archive(path, _read_head(path))
    except OSError:
        return False


def _packed(archive: str, place: str, search: _Search) -> Iterator[Source]:
    """Sources inside an archive, by names that begin with its own."""
    if not search.unpacking:
        raise UsageError("is an archive, which does not grow", file=archive, hint=f"hrmdoc analyze {archive}")
    from hrmdoc.readers.sources.unpack import unpacked  # few logs come as archives

    root = os.fspath(unpacked(archive, search.noted))
    inside = os.path.normpath(os.path.join(root, place))
    if not os.path.exists(inside) or not (inside + os.sep).startswith(root + os.sep):
        raise InputError(f"holds no {place!r} that may be a record", file=archive)
    yield from _unpacked(root, inside, archive, search)


def _on_server(path: str, search: _Search) -> Iterator[Source]:
    """Sources of a run that a tracking server keeps."""
    if not search.unpacking:
        raise UsageError(
            "is kept by a server, which is not followed", file=path, hint=f"hrmdoc analyze {path}"
        )
    root = os.fspath(tracked.fetched(path))
    yield from _unpacked(root, root, path, search)


def _unpacked(root: str, inside: str, archive: str, search: _Search) -> Iterator[Source]:
    """Sources in a folder that stands for `archive`, by names that begin with that."""
    met: list[Damage] = []
    within = dataclasses.replace(search, how=Listing(most=search.how.most), noted=met)
    found = (
        _walk(inside, within)
        if os.path.isdir(inside)
        else _file(inside, os.stat(inside), within, explicit=True)
    )
    for source in found:
        if _is_database(source):
            met.append(Damage(source.path, None, "a database inside an archive is not read; unpack it first"))
            continue
        path, logger = (one.replace(root, archive, 1) for one in (source.path, source.logger))
        yield replace(source, path=path, logger=logger, stored=source.path)
    search.noted += [dataclasses.replace(one, file=one.file.replace(root, archive, 1)) for one in met]


def _is_database(source: Source) -> bool:
    """Whether its reader opens it by name, and so cannot read it where it is not."""
    reader = readers.reader(source.reader)
    return reader.WHOLE and hasattr(reader, "runs")


def _one_run(path: str, search: _Search) -> Iterator[Source]:
    """The database that holds a run which the user named as `mlflow.db#first-try`; nothing when there is
    none."""
    file, mark, part = path.rpartition("#")
    if mark and os.path.isfile(file):
        for source in _file(file, os.stat(file), search, explicit=True):
            if hasattr(readers.reader(source.reader), "runs"):
                yield replace(source, part=part)


def _walk(root: str, search: _Search) -> Iterator[Source]:
    for path, status in files_below(root, search.noted, search.how.most):
        yield from _file(path, status, search, explicit=False)


def _file(path: str, status: os.stat_result, search: _Search, *, explicit: bool) -> Iterator[Source]:
    """The source that one file is, or nothing. A file that the user named gets a note when nobody wants
    it."""
    if (status.st_dev, status.st_ino) in search.seen:
        return
    search.seen.add((status.st_dev, status.st_ino))
    entry = remote.Entry(path, status.st_size, status.st_mtime, identity_of(status))
    heads = search.how.heads
    if heads is not None and not explicit and (known := heads.known(path, entry.identity)):
        yield from _source(entry, *known)
        return
    try:
        head = _read_head(path)
    except OSError as error:
        search.noted.append(Damage(path, None, f"cannot be read: {error.strerror}", incomplete=True))
        return
    yield from _sniffed(entry, head, search, explicit=explicit)


def identity_of(status: os.stat_result) -> str:
    """Changes whenever the content of a file does: size, time of change, place on its disk."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}-{status.st_dev}"


def _sniffed(entry: remote.Entry, head: bytes, search: _Search, *, explicit: bool) -> Iterator[Source]:
    """The source that begins with `head`; what was found is kept for the next look."""
    path = entry.path
    plain, codec = plain_head(head), codec_of(head)
    chosen = readers.choose(Path(names.plain_name(path)), plain) if plain else None
    if explicit and (chosen is None or chosen.NAME == "text") and names.holds_weights(path):
        search.noted.append(Damage(path, None, "holds weights or arrays, not the record of a run"))
        return
    reader = "" if chosen is None else chosen.NAME
    if search.how.heads is not None:
        search.how.heads.learn(path, entry.identity, reader, codec)
    if chosen is None and not head and (explicit or path.endswith((".log", ".jsonl", ".csv"))):
        search.noted.append(Damage(path, None, "is empty"))
    elif chosen is None and explicit:
        search.noted.append(Damage(path, None, _unread(head, codec)))
    yield from _source(entry, reader, codec)


def _source(entry: remote.Entry, reader: str, codec: str) -> Iterator[Source]:
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


def _in_storage(path: str, search: _Search) -> Iterator[Source]:
    """Sources in object storage. What is known from an earlier look costs the listing alone."""
    if not search.unpacking:
        raise UsageError("lies in object storage, which is not followed", file=path, hint="hrmdoc analyze")
    entries = [one for one in remote.listed(path) if (one.path,) not in search.seen]
    search.seen.update((one.path,) for one in entries)
    heads = search.how.heads
    known_heads = {
        one.path: known
        for one in entries
        if heads is not None and (known := heads.known(one.path, one.identity))
    }
    fetched = dict(remote.heads([one for one in entries if one.path not in known_heads], HEAD))
    for entry in entries:
        if entry.path in known_heads:
            yield from _no_database(_source(entry, *known_heads[entry.path]), search)
        elif isinstance(head := fetched[entry], Exception):
            search.noted.append(Damage(entry.path, None, f"cannot be read: {head}", incomplete=True))
        else:
            found = _sniffed(entry, head, search, explicit=len(entries) == 1)
            yield from _no_database(found, search)


def _no_database(found: Iterable[Source], search: _Search) -> Iterator[Source]:
    for source in found:
        if _is_database(source):
            what = "a database in object storage is not read; copy it here first"
            search.noted.append(Damage(source.path, None, what))
        else:
            yield source


def _unread(head: bytes, codec: str) -> str:
    """Why a file that the user named is read by no reader."""
    if codec and not codec.startswith("utf") and not plain_head(head):
        return f"begins as {codec} data, which is damaged from its start: nothing could be unpacked"
    return "is in no format that hrmdoc knows" + (" (binary data)" if b"\0" in head else "")


def _read_head(path: str) -> bytes:
    if remote.is_remote(path):
        return remote.head(path, HEAD)
    with open(path, "rb", buffering=0) as file:
        return file.read(HEAD)


def _newest_states(found: list[Source]) -> list[Source]:
    """Of several `trainer_state.json` of one run only the one that went furthest."""
    best: dict[str, tuple[int, Source]] = {}
    for source in found:
        if source.reader == "hf_state":
            step = _state_step(os.fspath(source.file))
            if source.logger not in best or step > best[source.logger][0]:
                best[source.logger] = step, source
    return [source for source in found if source.reader != "hf_state" or best[source.logger][1] is source]


def _state_step(path: str) -> int:
    try:
        step = _STATE_STEP.search(_read_head(path))
    except OSError:
        return -1
    return int(step[1]) if step else -1


def _order(source: Source) -> tuple[bool, float, str, int, int, tuple[tuple[int, int, str], ...]]:
    """Configs last; else by start, then the parts of one logger from old to new."""
    late = source.reader in _LATE_READERS
    return (
        late,
        source.started,
        source.logger,
        names.attempt(source.path),
        -names.rotation(source.path),
        names.natural(source.path),
    )
