"""The runs below a root: which there are, and when to look for others.

Whoever watches all runs below a folder says that it is none itself: each folder and file in it is looked at
as if it had been named, so that what is one run does not change with what lies beside it.
"""

from __future__ import annotations

import os
import time

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.readers import RunGroup
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.readers.sources.walk import folders_below
from hrmdoc.record.records import Damage

MOST_FILES = 1_000_000
SEARCH_S = 5.0
"""Seconds between two searches where no folder changed."""
SPARE = 50
"""A search follows the one before after this many times what that took: some programs replace a file in their
folder each second."""
LEAST_S, MOST_S = 1.0, 20.0
LITTLE = 256
"""Bytes in which what a file is may not show yet."""


class Finder:
    """Finds runs.

    Args:
        root: the folder above them.

    Attributes:
        problems: files below it that the last search could not look into, and why.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._formats = _Formats()
        self._folders: dict[str, int] = {}
        self._next = self._settled = -1.0
        self.problems: dict[str, str] = {}

    def due(self, now: float) -> bool:
        """Whether to search: a folder got or lost an entry, or a while has passed."""
        if now < self._settled:
            return False
        self._settled = now + LEAST_S  # a look at every folder costs too
        stood = self._folders.items()
        return now >= self._next or self._formats.grown() or any(_changed(one) != at for one, at in stood)

    def search(self, now: float) -> dict[str, RunGroup]:
        """Every run by its path below the root."""
        first, began = self._next < 0, time.process_time()
        self._formats.begun.clear()
        stamps = {folder: _changed(folder) for folder in self._below()}
        self._folders = stamps
        problems: list[Damage] = []
        found = self._found(self._named(), problems)
        read = {source.path for group in found for source in group.sources}
        self.problems = {
            os.path.relpath(one.file, self.root): one.what
            for one in problems
            if one.incomplete and one.file not in read
        }
        took = 0.0 if first else time.process_time() - began  # the first one loads what reads files
        rest = min(MOST_S, SPARE * took)
        self._settled = now + max(LEAST_S, rest)
        self._next = now + max(SEARCH_S, rest)
        return {os.path.relpath(group.folder, self.root): group for group in found}

    def _named(self) -> list[str]:
        """What lies in the root and may be or hold a run. Neither pipes and devices, nor links that lead
        nowhere or back up."""
        try:
            names = [name for name in os.listdir(self.root) if not name.startswith(".")]
        except OSError:  # it is gone, or cannot be read now
            return []
        above = os.path.join(os.path.realpath(self.root), "")
        paths = [os.path.join(self.root, name) for name in sorted(names)]
        back = [path for path in paths if os.path.islink(path) and above.startswith(_real(path))]
        return [path for path in paths if path not in back and _is_there(path)]

    def _found(self, named: list[str], problems: list[Damage]) -> list[RunGroup]:
        """The runs of what was named; what was removed or replaced meanwhile costs itself alone."""
        while named:
            noted: list[Damage] = []
            try:
                return readers.runs_below(named, noted, how=Listing(self._formats, MOST_FILES))
            except InputError as error:
                if error.file not in named or _is_there(str(error.file)):
                    return []  # nothing can be read there yet
                named.remove(str(error.file))
            finally:
                problems[:] = noted
        return []

    def _below(self) -> list[str]:
        """The root and all folders below it in which a run may begin."""
        return [*folders_below(self.root, [])]


class _Formats:
    """Who reads a file, known from the first search that met it: its beginning stays while it grows.

    Attributes:
        begun: files that hold too little for any reader, and their size; when they grow no folder changes.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        self.begun: dict[str, int] = {}

    def grown(self) -> bool:
        """Whether one that held too little holds more."""
        return any(_size(path) != size for path, size in self.begun.items())

    def known(self, path: str, identity: str) -> tuple[str, str] | None:
        """Reader and codec; None for one that was not met, or was read by nobody then."""
        return self._known.get((path, _place(identity)))

    def learn(self, path: str, identity: str, reader: str, codec: str) -> None:
        """Keeps what its beginning told."""
        if reader:
            self._known[path, _place(identity)] = reader, codec
        elif (size := int(identity.partition("-")[0])) < LITTLE:
            self.begun[path] = size


def _place(identity: str) -> str:
    """Where a file lies on its disk: what of its identity stays while it grows."""
    return "-".join(identity.split("-")[2:])


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")


def _is_there(path: str) -> bool:
    """Whether it is a folder or a file; False for a pipe, and a link that leads nowhere or in a circle."""
    return os.path.isdir(path) or os.path.isfile(path)
