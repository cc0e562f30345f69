"""Follows the files of a live run: what was appended is read from where the last read ended.

A file that shrank or was replaced is read from its start; a format that is rewritten rather than appended to
is read again when it changes; new files are looked for now and then. Where a folder holds several runs, the
newest is followed. Polling sizes works on every file system; events only wake it sooner.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from hrmdoc import readers
from hrmdoc.errors import InputError
from hrmdoc.readers import Source
from hrmdoc.readers.support.base import Opened
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run

BLOCK = 1 << 20
_BEGIN = 512
"""First bytes of a file that stay the same while it is only appended to."""
LOOK_FOR_NEW_EVERY = 1.0
"""Seconds between two searches for new files."""


@dataclass(slots=True)
class _Followed:
    source: Source
    session: Opened
    whole: bool
    inode: int = 0
    offset: int = 0
    stamp: tuple[int, ...] = ()
    gone: bool = field(default=False)
    begin: bytes = b""


class Follower:
    """Reads what is new under some paths into a run.

    Args:
        paths: files or folders, as the user named them.
        run: where the records go.
        wanted: literal search of the signature matcher.

    Attributes:
        folder: the folder of the run that is followed, where the path that was named holds several; else "".
        other_runs: a line that names the others, or "".
        outrun: another run has begun there since.
    """

    def __init__(self, paths: Iterable[str], run: Run, wanted: Callable[[bytes], Iterable[int]]) -> None:
        self._paths = list(paths)
        self._run = run
        self._wanted = wanted
        self._files: dict[str, _Followed] = {}
        self._looked = -LOOK_FOR_NEW_EVERY
        self._noted: set[tuple[str, str]] = set()
        self._known: set[str] = set()
        self._renamed: dict[int, bytes] = {}
        self.folder = ""
        self.other_runs = ""
        self.outrun = False

    @property
    def sources(self) -> list[Source]:
        """What is being followed."""
        return [one.source for one in self._files.values()]

    @property
    def folders(self) -> set[str]:
        """Where something may happen: the folders of the files that are followed, and those that the user
        named."""
        named = {path if os.path.isdir(path) else os.path.dirname(path) for path in self._paths}
        return {os.path.abspath(folder) for folder in named | {os.path.dirname(path) for path in self._files}}

    def find(self) -> None:
        """Looks for files, reads nothing yet.

        Raises:
            InputError: a path that the user named does not exist.
        """
        self._looked = time.monotonic()
        self._discover()

    def poll(self) -> bool:
        """Reads what is new; whether there was anything.

        Raises:
            InputError: a path that the user named does not exist.
        """
        if time.monotonic() - self._looked >= LOOK_FOR_NEW_EVERY:
            self.find()
        before = self._run.version
        for followed in self._files.values():
            self._read(followed)
        return self._run.version != before

    def close(self) -> None:
        """The run has ended: what was held back is taken in."""
        for followed in self._files.values():
            self._run.extend(followed.session.close())

    def _discover(self) -> None:
        problems: list[Damage] = []
        try:
            found = readers.discover(self._paths, problems)
        except InputError:
            if all(os.path.exists(path) for path in self._paths):
                return  # there is nothing in it yet
            if not self._files:
                raise
            return
        for source in self._of_one_run(found):
            if source.path not in self._files and not self._is_renamed(source.path):
                self._supersede(source)
                self._files[source.path] = self._open(source)

    def _of_one_run(self, found: list[Source]) -> Sequence[Source]:
        """The sources of the run that is followed already, at first of the newest."""
        groups = readers.runs_in(found) if len(self._paths) == 1 else []
        if len(groups) < 2:
            self._known |= {group.folder for group in groups}
            self.other_runs = readers.runs_note(groups)
            return self._parts(groups[-1]) if groups else found
        newest = groups[-1]
        mine = next(
            (group for group in groups if any(source.path in self._files for source in group.sources)), newest
        )
        self.outrun = mine is not newest and newest.folder not in self._known
        if not self.outrun:
            self._known |= {group.folder for group in groups}
        self.folder = mine.folder
        self.other_runs = readers.runs_note([*(group for group in groups if group is not mine), mine])
        return self._parts(mine)

    def _parts(self, group: readers.RunGroup) -> Sequence[Source]:
        """Its sources; where one part goes on with another the run learns of it once."""
        self._run.extend(group.resumes(self._run.events))
        return group.sources

    def _supersede(self, source: Source) -> None:
        """Of the state files of one Trainer each repeats those before: the newer one takes their place."""
        for path, one in list(self._files.items()):
            if source.reader == one.source.reader == "hf_state" and source.logger == one.source.logger:
                self._run.forget(source.logger, path)
                del self._files[path]

    def _open(self, source: Source) -> _Followed:
        if source.reader not in self._run.formats:
            self._run.formats.append(source.reader)
        session = readers.open_source(source, self._wanted)
        return _Followed(source, session, whole=readers.reader(source.reader).WHOLE)

    def _read(self, followed: _Followed) -> None:
        path = followed.source.path
        try:
            status = os.stat(path)
        except OSError as error:
            if not followed.gone:
                followed.gone = True
                self._note(path, f"has vanished: {error.strerror}")
            if not followed.whole:  # its writer may keep it under its new name
                self._read_renamed(followed)
            return
        if not stat.S_ISREG(status.st_mode):
            self._note(path, "is no regular file any more and is not read")
            return
        followed.gone = False
        stamp = (status.st_size, status.st_mtime_ns) + (_journal(path) if followed.whole else ())
        if stamp == followed.stamp and status.st_ino == followed.inode:
            return
        if followed.inode and (
            followed.whole or status.st_ino != followed.inode or status.st_size < followed.offset
        ):
            self._restart(followed)
        followed.inode, followed.stamp = status.st_ino, stamp
        try:
            with _open_regular(path) as file:
                begin = file.read(_BEGIN)
                if not begin.startswith(followed.begin):
                    self._replace(followed)
                followed.begin = begin
                self._take_from(followed, file)
        except OSError as error:
            self._note(path, f"cannot be read: {error.strerror}")
        if followed.whole:
            self._run.extend(followed.session.close())

    def _restart(self, followed: _Followed) -> None:
        """The file is another one now: a rewritten format replaces its points, a rotated or truncated log
        goes on."""
        if followed.whole:
            self._run.forget(followed.source.logger or followed.source.path, followed.source.path)
        else:
            self._read_renamed(followed)
            followed.begin = b""  # what was emptied in place goes on, and takes no point of before back
            self._run.extend(followed.session.close())
        followed.session = readers.open_source(followed.source, self._wanted)
        followed.offset = 0

    def _read_renamed(self, followed: _Followed) -> None:
        """Reads what was appended to a log between the last poll and its rotation, where it still lies in the
        folder under another name."""
        path = followed.source.path
        with suppress(OSError), os.scandir(os.path.dirname(path) or ".") as entries:
            for entry in entries:
                if entry.inode() == followed.inode and entry.path != path:
                    with _open_regular(entry.path) as file:
                        self._take_from(followed, file)
                    self._renamed.setdefault(followed.inode, followed.begin)
                    followed.begin = b""  # the new file goes on; it takes no point of the old one back
                    return

    def _is_renamed(self, path: str) -> bool:
        """Whether this is a log that was followed by its former name, and was read by that."""
        known = dict(self._renamed)
        known.update((one.inode, one.begin) for one in self._files.values() if one.begin and not one.whole)
        try:
            begin = known.get(os.stat(path).st_ino)
            if not begin:
                return False
            with _open_regular(path) as file:
                return file.read(_BEGIN).startswith(begin)
        except OSError:
            return False

    def _take_from(self, followed: _Followed, file: BinaryIO) -> None:
        """Reads a file on from where the last read ended."""
        file.seek(followed.offset)
        while block := file.read(BLOCK):
            followed.offset += len(block)
            before = followed.session.lines
            self._run.extend(followed.session.feed(block))
            self._run.line_count += followed.session.lines - before

    def _replace(self, followed: _Followed) -> None:
        """The file was written anew in place, as a table is whose header got another column: its points are
        read again."""
        self._run.forget(followed.source.logger or followed.source.path, followed.source.path)
        followed.session = readers.open_source(followed.source, self._wanted)
        followed.offset = 0

    def _note(self, path: str, what: str) -> None:
        if (path, what) not in self._noted:
            self._noted.add((path, what))
            self._run.add(Damage(path, None, what))


def _open_regular(path: str) -> BinaryIO:
    """The file for reading; a pipe or device that has taken its place meanwhile neither blocks nor floods.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb")


def _journal(path: str) -> tuple[int, ...]:
    """Size and time of the journal in which SQLite keeps what is not in the database yet; nothing where there
    is none."""
    try:
        status = os.stat(path + "-wal")
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns
