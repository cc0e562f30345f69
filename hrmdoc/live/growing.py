"""One file of a live run: what was appended is read from where the last read ended.

A file that shrank or was replaced is read from its start, what was written to it before a rotation by its new
name; a format that is rewritten rather than appended to is read again when it changes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import BinaryIO

from hrmdoc import readers
from hrmdoc.live.glance import Glance
from hrmdoc.readers import Source
from hrmdoc.record.records import Damage
from hrmdoc.record.run import Run

BLOCK = 1 << 20
BEGIN = 512
"""First bytes of a file that stay the same while it is only appended to."""


def _never() -> bool:
    return False


class Growing:
    """A file that is followed.

    Args:
        source: the file, and who reads it.
        run: where the records go.
        wanted: literal search of the signature matcher.
        settings: names of settings, for `Context.settings`.

    Attributes:
        begin: its first bytes.
        renamed: logs that were read to their end by another name: inode -> first bytes.
        rotated: something was read that does not lie in this file any more.
    """

    def __init__(
        self,
        source: Source,
        run: Run,
        wanted: Callable[[bytes], Iterable[int]],
        settings: frozenset[str] = frozenset(),
    ) -> None:
        self.source = source
        self.whole = readers.reader(source.reader).WHOLE
        self.inode = 0
        self.begin = b""
        self.renamed: dict[int, bytes] = {}
        self.rotated = False
        self._run, self._wanted, self._settings = run, wanted, settings
        self._session = readers.open_source(source, wanted, settings)
        self._offset = 0
        self._stamp: tuple[int, ...] = ()
        self._gone = self._behind = False
        self._noted: set[str] = set()
        self._glance: Glance | None = None
        self._may_hold = not self.whole and not source.codec

    @property
    def gone(self) -> bool:
        """Whether it was not there when it was read last."""
        return self._gone

    @property
    def behind(self) -> bool:
        """Whether the last read left something for the next one."""
        return self._behind and not self._gone

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return 0 if self._glance is None else self._glance.size

    def read(self, until: Callable[[], bool] = _never, *, patient: bool = False) -> None:
        """Takes in what is new.

        Args:
            until: asked after each block; a log is not read on once it is true, until the next call. What is
                read as a whole, is.
            patient: lines that are like those before them are held back, see `hrmdoc.live.glance`.
        """
        if patient and self._may_hold and self._glance is None:
            self._glance = Glance()
        self._look(until)
        if not patient:
            self.release()

    def release(self) -> None:
        """Takes in what is held back."""
        if self._glance is not None and (held := self._glance.release()):
            self._feed(held)

    def _look(self, until: Callable[[], bool]) -> None:
        """Takes in, or holds back, what is new in the file."""
        path = self.source.path
        try:
            status = os.stat(path)
        except OSError as error:
            if not self._gone:
                self._gone = True
                self._note(f"has vanished: {error.strerror}")
            with suppress(OSError):
                if not self.whole:  # its writer may keep it under its new name
                    self._read_renamed()
            return
        if not stat.S_ISREG(status.st_mode):
            self._note("is no regular file any more and is not read")
            return
        self._gone = False
        if self._stamped(status) == self._stamp and status.st_ino == self.inode and not self._behind:
            self._unsay()
            return
        try:
            with open_regular(path) as file:
                self._take(file, until)
        except OSError as error:
            self._stamp, self._behind = (), False  # it is tried again, whether or not it changes
            if error.errno != errno.ESTALE:  # on a network file system that comes and goes
                self._note(f"cannot be read: {error.strerror}")
            return
        self._unsay()
        if self.whole:
            self._run.extend(self._session.close())

    def _take(self, file: BinaryIO, until: Callable[[], bool]) -> None:
        """Takes in what is new in the file that lies there now, maybe another one than a moment ago."""
        status = os.fstat(file.fileno())
        if self.inode and (self.whole or status.st_ino != self.inode or status.st_size < self._offset):
            self._restart()
        self.inode, self._stamp = status.st_ino, self._stamped(status)
        begin = file.read(BEGIN)
        if not begin.startswith(self.begin):
            self._replace()
        self.begin = begin
        self._take_from(file, _never if self.whole else until)

    def _stamped(self, status: os.stat_result) -> tuple[int, ...]:
        return status.st_size, status.st_mtime_ns, *(_journal(self.source.path) if self.whole else ())

    def close(self) -> None:
        """The run has ended: what was held back is taken in."""
        self._end()

    def _end(self) -> None:
        """The lines of this file are over."""
        self.release()
        before = self._session.lines
        self._run.extend(self._session.close())
        self._run.line_count += self._session.lines - before

    def _restart(self) -> None:
        """The file is another one now: a rewritten format replaces its points, a rotated or truncated log
        goes on."""
        if self.whole:
            self._run.forget(self.source.logger or self.source.path, self.source.path)
        else:
            self._read_renamed()
            self.rotated = True
            self.begin = b""  # what was emptied in place goes on, and takes no point of before back
            self._end()
        self._open_anew()

    def _read_renamed(self) -> None:
        """Reads what was appended to a log between the last read and its rotation, where it still lies in the
        folder under another name.

        Raises:
            OSError: a network file system does not show it now, but may again.
        """
        path = self.source.path
        try:
            with os.scandir(os.path.dirname(path) or ".") as entries:
                same = (one.path for one in entries if one.inode() == self.inode and one.path != path)
                former = next(same, None)
            if former is None:
                return
            with open_regular(former) as file:
                self._take_from(file)
        except OSError as error:
            if error.errno == errno.ESTALE:
                raise
            return
        self.renamed.setdefault(self.inode, self.begin)
        self.begin = b""  # the new file goes on; it takes no point of the old one back

    def _take_from(self, file: BinaryIO, until: Callable[[], bool] = _never) -> None:
        """Reads a file on from where the last read ended."""
        file.seek(self._offset)
        self._behind = False
        while block := file.read(BLOCK):
            self._offset += len(block)
            if self._glance is None or not self._glance.holds(block):
                self._feed(block if self._glance is None else self._glance.release() + block)
            if len(block) == BLOCK and until():
                self._behind = True
                return

    def _replace(self) -> None:
        """The file was written anew in place, as a table is whose header got another column: its points are
        read again."""
        self._run.forget(self.source.logger or self.source.path, self.source.path)
        self._open_anew()

    def _open_anew(self) -> None:
        self._session = readers.open_source(self.source, self._wanted, self._settings)
        self._offset = 0
        self._glance = None

    def _feed(self, data: bytes) -> None:
        """Reads bytes."""
        run, session = self._run, self._session
        before, others = session.lines, _others(run)
        run.extend(session.feed(data))
        run.line_count += session.lines - before
        if self._glance is not None:
            self._glance.take(data, plain=_others(run) == others)

    def _note(self, what: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            self._run.add(Damage(self.source.path, None, what))

    def _unsay(self) -> None:
        """The file was read: what was noted of it while it could not be is true no more."""
        if self._noted:
            untrue = {(self.source.path, None, what) for what in self._noted}
            self._noted.clear()
            self._run.withdraw(untrue)


def _others(run: Run) -> tuple[int, ...]:
    """How much there is of a run beside points."""
    return len(run.lines), len(run.events), len(run.damages), len(run.facts), run.stated


def open_regular(path: str) -> BinaryIO:
    """The file for reading; a pipe or device that has taken its place meanwhile neither blocks nor floods.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb", buffering=0)  # two reads a file: a buffer costs more


def _journal(path: str) -> tuple[int, ...]:
    """Size and time of the journal in which SQLite keeps what is not in the database yet; nothing where there
    is none."""
    try:
        status = os.stat(path + "-wal")
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns
