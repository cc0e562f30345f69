"""JSON lines that outlive the process which wrote them: what one watch told and did, so that the next goes on
from there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO


class Journal:
    """A file of JSON objects, one a line.

    Args:
        path: the file; None, or one that cannot be written, keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def entries(self) -> Iterator[dict[str, Any]]:
        """What stands there, the oldest first; a torn or foreign line is passed over."""
        try:
            lines = [] if self._path is None else self._path.read_bytes().split(b"\n")
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
        """Adds entries. A full or vanished disk ends the journal, not what writes to it."""
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        if self._path is None or not lines:
            return
        try:
            with self._path.open("ab+") as file:
                file.write(_after_torn(file) + lines.encode())
        except OSError:
            self._path = None


def _after_torn(file: BinaryIO) -> bytes:
    """What must stand between the end of the file and the next entry, so that a torn line does not take it
    with it."""
    if not file.tell():
        return b""
    file.seek(-1, 2)
    return b"" if file.read(1) == b"\n" else b"\n"
