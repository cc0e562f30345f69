"""The runs beside a run: files of its name in the folders beside its own, or of like names in its folder.

Nothing is opened here, and of a folder with more entries than a few thousand only so many are looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice

from hrmdoc.readers.sources import folders, remote
from hrmdoc.readers.sources.groups import RunGroup
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.text import patterns

_MOST_ENTRIES = 4000
_MOST_PARTS = 200
"""Files that are looked at in one folder for those of the run's own names."""
_MOST_SHAPES = 3
"""Files by whose names a folder is known: the largest of the run."""
_FEW = 3
"""So many there must be in one place, before a place farther away is looked at."""
_Found = Iterator[tuple[float, str]]
"""When each was written last, Unix seconds, and its path."""
_DIGITS = patterns.lazy(r"\d+")


def beside(group: RunGroup) -> list[str]:
    """Paths of the runs that lie as this one does, those nearest in time first; each is a file where the run
    is one file, and a folder where it is a folder."""
    records = folders.parted(group.sources)[0]
    if not records or any(map(_lies_nowhere, records)):
        return []
    found = next((inside for inside in map(list, _places(group, records)) if len(inside) >= _FEW), [])
    written = max(one.mtime for one in records)
    return [path for _, path in sorted((abs(time - written), path) for time, path in found)]


def _lies_nowhere(record: Source) -> bool:
    """Whether it has no place on this disk with others beside it."""
    return bool(record.stored or record.part) or record.path == STDIN or remote.is_remote(record.path)


def _places(group: RunGroup, records: Sequence[Source]) -> Iterator[_Found]:
    """What lies as the run does, from the nearest place to the farthest."""
    home = os.path.realpath(group.folder)
    if os.path.isdir(home):
        largest = sorted(records, key=lambda one: -one.size)[:_MOST_SHAPES]
        inside = (os.path.relpath(os.path.realpath(one.path), home) for one in largest)
        wanted = {_shape(name) for name in inside if not name.startswith(os.pardir)}
        yield from (_folders_like(home, depth, wanted) for depth in (1, 2))
    elif len(records) == 1:
        yield _files_like(home, records[0])
        yield from (_same_name(home, depth) for depth in (1, 2))


def _shape(name: str) -> str:
    """A name with its numbers left out: those of processes, days and versions differ from run to run."""
    return _DIGITS.sub("#", name.replace(os.sep, "/"))


def _files_like(home: str, record: Source) -> _Found:
    """Files of its folder whose names differ from the run's in their numbers, or that are named as runs
    are."""
    folder, name = os.path.split(home)
    stem, ending = os.path.splitext(name)
    if record.rank is not None:
        return
    for entry in _entries(folder):
        other, suffix = os.path.splitext(entry.name)
        if suffix == ending and entry.name != name and (_shape(other) == _shape(stem) or _named(stem, other)):
            yield from _written(entry.path)


def _named(stem: str, other: str) -> bool:
    return folders.is_run_name(stem) and folders.is_run_name(other)


def _same_name(home: str, depth: int) -> _Found:
    """Files of the same name in the folders beside that of the run, or beside the one above that."""
    folder = os.path.dirname(home)
    for _ in range(depth - 1):
        folder = os.path.dirname(folder)
    below = os.path.relpath(home, folder)
    for entry in _entries(os.path.dirname(folder)):
        if entry.path != folder and entry.is_dir(follow_symlinks=False):
            yield from _written(os.path.join(entry.path, below))


def _folders_like(home: str, depth: int, wanted: set[str]) -> _Found:
    """Folders beside that of the run, or of its name beside the one above it, which hold a file of its
    names."""
    folder = home
    for _ in range(depth - 1):
        folder = os.path.dirname(folder)
    below = os.path.relpath(home, folder)
    for entry in _entries(os.path.dirname(folder)):
        if entry.path == folder or not entry.is_dir(follow_symlinks=False):
            continue
        inside = os.path.normpath(os.path.join(entry.path, below))
        times = [time for name in wanted for time, _ in _shaped(inside, name)]
        if times:
            yield max(times), inside


def _shaped(folder: str, shape: str) -> _Found:
    """The files of a folder whose names have this shape."""
    below, _, name = shape.rpartition("/")
    if "#" in below:
        return
    for entry in islice(_entries(os.path.join(folder, below)), _MOST_PARTS):
        if _shape(entry.name) == name:
            yield from _written(entry.path)


def _written(path: str) -> _Found:
    """When a file was last written, Unix seconds, and the file; nothing where it is no plain file."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISREG(found.st_mode) and found.st_size:
        yield found.st_mtime, path


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder, in no order; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            yield from islice(found, _MOST_ENTRIES)
    except OSError:
        return
