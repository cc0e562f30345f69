"""Locks that keep two processes from writing the same; the system releases them when a process ends."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from hrmdoc import systems

_PAUSE_S = 0.02
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""A file system without locks, as some network ones are: there nothing is held up, and nothing is guarded."""


class Lock:
    """A lock that this process holds until `release`, or until it ends, however that happens."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Lets others have it."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1

    __del__ = release

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def acquire(path: Path, wait_s: float = 0.0) -> Lock | None:
    """The lock on the file `path`, which is made where it is missing and never deleted; a link in its place
    is not followed.

    Returns:
        None when another process still holds it after `wait_s` seconds.

    Raises:
        OSError: the file cannot be opened.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return Lock(-1)
    flags = os.O_RDWR | os.O_CREAT | systems.PLAIN
    descriptor = os.open(path, flags, 0o666)
    until = time.monotonic() + wait_s
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(descriptor)
                    return None
                time.sleep(_PAUSE_S)
            else:
                return Lock(descriptor)
    except OSError as error:
        if error.errno in _UNSUPPORTED and error.filename is None:
            os.close(descriptor)
            return Lock(-1)
        os.close(descriptor)
        raise
