"""JSON lines that outlive the process which wrote them: what one watch reported and did, so that the next
goes on from there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from hrmdoc import systems
from hrmdoc.locks import Lock, acquire
from hrmdoc.paths import read_kept


class Journal:
    """A file of JSON objects, one a line. Of several processes that keep the same one, the first writes until
    it ends: they see the same run, and each entry shall stand there once.

    Args:
        path: the file; None keeps nothing. A link in its place is not followed, since who prepared the folder
            may have planted it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._waiting = b""
        self._lock: Lock | None = None

    def is_mine(self) -> bool:
        """Whether this process writes it; true where no file is kept, or nothing can be locked."""
        if self._path is None or self._lock is not None:
            return True
        try:
            self._lock = acquire(self._path)
        except OSError:
            return True
        return self._lock is not None

    def close(self) -> None:
        """Lets another process write it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def entries(self) -> Iterator[dict[str, Any]]:
        """What stands there, the oldest first; a torn or foreign line is passed over, and all of a file that
        cannot be a journal."""
        try:
            lines = [] if self._path is None else read_kept(self._path).split(b"\n")
        except OSError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry

    def append(self, entries: Iterable[Mapping[str, object]]) -> None:
        """Adds entries. On a full or vanished disk they wait for the next ones; nothing that writes to the
        journal ends."""
        text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        self._waiting += text.encode(errors="backslashreplace")  # the name of a file may hold any bytes
        if self._path is None or not self._waiting:
            return
        if not self.is_mine():
            self._waiting = b""
            return
        with suppress(OSError):
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | systems.PLAIN
            with open(os.open(self._path, flags, 0o666), "ab+") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    file.write(_after_torn(file) + self._waiting)
            self._waiting = b""


def _after_torn(file: BinaryIO) -> bytes:
    """What must stand between the end of the file and the next entry, so that a torn line does not take it
    with it."""
    if not file.tell():
        return b""
    file.seek(-1, 2)
    return b"" if file.read(1) == b"\n" else b"\n"
