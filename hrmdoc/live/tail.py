"""Shows what is appended to a file, as `tail -f` does."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 16
PAUSE_S = 0.05


class Tail:
    """Copies what is written behind the present end of a file to a stream, in a thread.

    A stream that is closed, or a terminal that is gone, ends the copying and nothing else.

    Args:
        path: the file; it exists.
        stream: where its new bytes go.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._stream = path, stream
        self._offset = path.stat().st_size
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def start(self) -> None:
        """Begins to copy."""
        self._thread.start()

    def finish(self) -> None:
        """Copies what is left; nothing more will come."""
        self._ended.set()
        self._thread.join(timeout=10)

    def _copy(self) -> None:
        try:
            with self._path.open("rb", buffering=0) as file:
                while not self._ended.wait(PAUSE_S):
                    self._pass_on(file)
                self._pass_on(file)
        except (OSError, ValueError):
            return

    def _pass_on(self, file: BinaryIO) -> None:
        if os.fstat(file.fileno()).st_size < self._offset:  # the command emptied it and begins anew
            self._offset = 0
        file.seek(self._offset)
        while block := file.read(BLOCK):
            self._stream.write(block)
            self._stream.flush()
            self._offset += len(block)
