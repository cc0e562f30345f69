"""Finds what a path holds: files, folders walked to a bounded depth, standard input."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from hrmdoc import readers
from hrmdoc.errors import InputError, UsageError
from hrmdoc.paths import instead_of
from hrmdoc.readers.sources import archives
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.sources.walk import files_below
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


def discover_each(
    named: Iterable[str | PathLike[str]], problems: list[Damage] | None = None, *, unpacking: bool = False
) -> list[tuple[str, list[Source]]]:
    """As `discover`, by the path that was named; a file that two of them hold counts for the first."""
    paths = [os.fspath(path) for path in named]
    if not paths:
        raise InputError("no path was given")
    noted: list[Damage] = []
    seen: set[tuple[int, int]] = set()
    found = [(path, list(_named(path, seen, noted, unpacking=unpacking))) for path in paths]
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


def _named(
    path: str, seen: set[tuple[int, int]], noted: list[Damage], *, unpacking: bool
) -> Iterator[Source]:
    """Sources of one path that the user named."""
    if path == STDIN:
        yield Source(STDIN, "", STDIN)
        return
    if not path:
        raise InputError("a path is empty", hint="is the variable that should name it set?")
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        if inside := list(_one_run(path, seen, noted)):
            yield from inside
            return
        if (holder := archives.holder_of(path)) and _is_archive(holder[0]):
            yield from _packed(*holder, seen, noted, unpacking=unpacking)
            return
        raise InputError(
            _missing(path) if isinstance(error, FileNotFoundError) else f"cannot be read: {error}",
            hint=instead_of(path),
            file=path,
        ) from error
    if stat.S_ISDIR(status.st_mode):
        yield from _walk(path, seen, noted)
    elif stat.S_ISREG(status.st_mode) and _is_archive(path):
        yield from _packed(path, "", seen, noted, unpacking=unpacking)
    elif stat.S_ISREG(status.st_mode):
        yield from _file(path, status, seen, noted, explicit=True)
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


def _packed(
    archive: str, place: str, seen: set[tuple[int, int]], noted: list[Damage], *, unpacking: bool
) -> Iterator[Source]:
    """Sources inside an archive, by names that begin with its own."""
    if not unpacking:
        raise UsageError("is an archive, which does not grow", file=archive, hint=f"hrmdoc analyze {archive}")
    from hrmdoc.readers.sources.unpack import unpacked  # few logs come as archives

    root = os.fspath(unpacked(archive, noted))
    inside = os.path.normpath(os.path.join(root, place))
    if not os.path.exists(inside) or not (inside + os.sep).startswith(root + os.sep):
        raise InputError(f"holds no {place!r} that may be a record", file=archive)
    met: list[Damage] = []
    found = (
        _walk(inside, seen, met)
        if os.path.isdir(inside)
        else _file(inside, os.stat(inside), seen, met, explicit=True)
    )
    for source in found:
        if _is_database(source):
            met.append(Damage(source.path, None, "a database inside an archive is not read; unpack it first"))
            continue
        path, logger = (one.replace(root, archive, 1) for one in (source.path, source.logger))
        yield replace(source, path=path, logger=logger, stored=source.path)
    noted += [dataclasses.replace(one, file=one.file.replace(root, archive, 1)) for one in met]


def _is_database(source: Source) -> bool:
    """Whether its reader opens it by name, and so cannot read it where it is not."""
    reader = readers.reader(source.reader)
    return reader.WHOLE and hasattr(reader, "runs")


def _one_run(path: str, seen: set[tuple[int, int]], noted: list[Damage]) -> Iterator[Source]:
    """The database that holds a run which the user named as `mlflow.db#first-try`; nothing when there is
    none."""
    file, mark, part = path.rpartition("#")
    if mark and os.path.isfile(file):
        for source in _file(file, os.stat(file), seen, noted, explicit=True):
            if hasattr(readers.reader(source.reader), "runs"):
                yield replace(source, part=part)


def _walk(root: str, seen: set[tuple[int, int]], noted: list[Damage]) -> Iterator[Source]:
    for path, status in files_below(root, noted):
        yield from _file(path, status, seen, noted, explicit=False)


def _file(
    path: str, status: os.stat_result, seen: set[tuple[int, int]], noted: list[Damage], *, explicit: bool
) -> Iterator[Source]:
    """The source that one file is, or nothing. A file that the user named gets a note when nobody wants
    it."""
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    try:
        head = _read_head(path)
    except OSError as error:
        noted.append(Damage(path, None, f"cannot be read: {error.strerror}", incomplete=True))
        return
    plain, codec = plain_head(head), codec_of(head)
    chosen = readers.choose(Path(names.plain_name(path)), plain) if plain else None
    if explicit and (chosen is None or chosen.NAME == "text") and names.holds_weights(path):
        noted.append(Damage(path, None, "holds weights or arrays, not the record of a run"))
        return
    if chosen is None:
        if not head and (explicit or path.endswith((".log", ".jsonl", ".csv"))):
            noted.append(Damage(path, None, "is empty"))
        elif explicit:
            noted.append(Damage(path, None, _unread(head, codec)))
        return
    slashed = path.replace(os.sep, "/")
    yield Source(
        path=path,
        reader=chosen.NAME,
        logger=names.logger_of(slashed, chosen.NAME),
        rank=names.rank_in(slashed),
        started=names.started_in(slashed) or status.st_mtime,
        mtime=status.st_mtime,
        size=status.st_size,
        codec=codec,
    )


def _unread(head: bytes, codec: str) -> str:
    """Why a file that the user named is read by no reader."""
    if codec and not codec.startswith("utf") and not plain_head(head):
        return f"begins as {codec} data, which is damaged from its start: nothing could be unpacked"
    return "is in no format that hrmdoc knows" + (" (binary data)" if b"\0" in head else "")


def _read_head(path: str) -> bytes:
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
