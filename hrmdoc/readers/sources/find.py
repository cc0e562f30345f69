"""Finds what a path holds: files, folders walked to a bounded depth, standard input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from hrmdoc import readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.paths import instead_of
from hrmdoc.readers.sources import archives, remote, tracked
from hrmdoc.readers.sources.beginning import (
    HEAD,
    Listing,
    Search,
    is_database,
    read_head,
    sniffed,
    source_of,
    taken_as,
)
from hrmdoc.readers.sources.order import ordered
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.sources.walk import files_below
from hrmdoc.record.records import Damage

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

_STREAM = (
    "is a pipe, socket or device, not a file; to read a stream, redirect it to standard input and pass `-`"
)


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
    return ordered([source for _, sources in each for source in sources])


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
    search = Search(unpacking, how or Listing(), several=len(paths) > 1)
    noted = search.noted
    try:
        found = [(path, list(_at_path(path, search))) for path in paths]
    finally:
        if problems is not None:
            problems += noted
    if not any(sources for _, sources in found):
        first = noted[0] if noted else None
        raise InputError(
            first.what if first else "holds no log, event file or table that hrmdoc can read",
            file=first.file if first else paths[0],
            hint="`hrmdoc formats` lists what can be read",
        )
    return [(path, ordered(sources)) for path, sources in found]


def _at_path(path: str, search: Search) -> Iterator[Source]:
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
        gone = isinstance(error, FileNotFoundError)
        what = _missing(path) if gone else f"cannot be read: {getattr(error, 'strerror', None) or error}"
        _pass_by(path, what, search, hint=instead_of(path), incomplete=not gone, error=error)
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _walk(path, search)
    elif stat.S_ISREG(status.st_mode) and _is_archive(path):
        yield from _packed(path, "", search)
    elif stat.S_ISREG(status.st_mode):
        yield from source_of(path, status, search, explicit=True)
    else:
        _pass_by(path, _STREAM, search, hint=None, incomplete=False)


def _pass_by(
    path: str,
    what: str,
    search: Search,
    *,
    hint: str | None,
    incomplete: bool,
    error: Exception | None = None,
) -> None:
    """Notes what a named path is that is there and no record, such as a link to nothing among the files of a
    pattern.

    Raises:
        InputError: no other path was named, or there is nothing at all.
    """
    there = os.path.lexists(path) or isinstance(error, PermissionError)
    if not (search.several and there):
        raise InputError(what, hint=hint, file=path) from error
    search.noted.append(Damage(path, None, what, incomplete=incomplete))


def _missing(path: str) -> str:
    """That there is nothing, and of a link to what."""
    if os.path.islink(path):
        return f"is a link to {os.readlink(path)!r}, which is not there"
    return "no such file or folder"


def _is_archive(path: str) -> bool:
    try:
        return archives.is_archive(path, read_head(path))
    except OSError:
        return False


def _packed(archive: str, place: str, search: Search) -> Iterator[Source]:
    """Sources inside an archive, by names that begin with its own."""
    if not search.unpacking:
        raise UsageError("is an archive, which does not grow", file=archive, hint=f"hrmdoc analyze {archive}")
    from hrmdoc.readers.sources.unpack import unpacked  # few logs come as archives

    root = os.fspath(unpacked(archive, search.noted))
    inside = os.path.normpath(os.path.join(root, place))
    if not os.path.exists(inside) or not (inside + os.sep).startswith(root + os.sep):
        raise InputError(f"holds no {place!r} that may be a record", file=archive)
    yield from _unpacked(root, inside, archive, search)


def _on_server(path: str, search: Search) -> Iterator[Source]:
    """Sources of a run that a tracking server keeps."""
    if not search.unpacking:
        raise UsageError(
            "is kept by a server, which is not followed", file=path, hint=f"hrmdoc analyze {path}"
        )
    root = os.fspath(tracked.fetched(path))
    yield from _unpacked(root, root, path, search)


def _unpacked(root: str, inside: str, archive: str, search: Search) -> Iterator[Source]:
    """Sources in a folder that stands for `archive`, by names that begin with that."""
    met: list[Damage] = []
    within = replace(search, how=Listing(most=search.how.most), noted=met)
    found = (
        _walk(inside, within)
        if os.path.isdir(inside)
        else source_of(inside, os.stat(inside), within, explicit=True)
    )
    for source in found:
        if is_database(source):
            met.append(Damage(source.path, None, "a database inside an archive is not read; unpack it first"))
            continue
        path, logger = (one.replace(root, archive, 1) for one in (source.path, source.logger))
        yield replace(source, path=path, logger=logger, stored=source.path)
    search.noted += [replace(one, file=one.file.replace(root, archive, 1)) for one in met]


def _one_run(path: str, search: Search) -> Iterator[Source]:
    """The database that holds a run which the user named as `mlflow.db#first-try`; nothing when there is
    none."""
    file, mark, part = path.rpartition("#")
    if mark and os.path.isfile(file):
        for source in source_of(file, os.stat(file), search, explicit=True):
            if hasattr(readers.reader(source.reader), "runs"):
                yield replace(source, part=part)


def _walk(root: str, search: Search) -> Iterator[Source]:
    for path, status in files_below(root, search.noted, search.how.most):
        yield from source_of(path, status, search, explicit=False)


def _in_storage(path: str, search: Search) -> Iterator[Source]:
    """Sources in object storage. What is known from an earlier search costs the listing alone."""
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
            yield from _no_database(taken_as(entry, *known_heads[entry.path]), search)
        elif isinstance(head := fetched[entry], Exception):
            search.noted.append(Damage(entry.path, None, f"cannot be read: {head}", incomplete=True))
        else:
            found = sniffed(entry, head, search, explicit=len(entries) == 1)
            yield from _no_database(found, search)


def _no_database(found: Iterable[Source], search: Search) -> Iterator[Source]:
    for source in found:
        if is_database(source):
            what = "a database in object storage is not read; copy it here first"
            search.noted.append(Damage(source.path, None, what))
        else:
            yield source
