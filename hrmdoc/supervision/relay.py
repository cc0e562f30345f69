"""Copies what comes from a terminal (standard input) into a log (standard output), as a process of its own.

It stands alone, so that it starts in milliseconds, and outlives the supervisor: a terminal that nobody reads
ends the command that writes to it. What a full disk refuses is lost, counted, and noted once there is room.
"""

from __future__ import annotations

import os
import signal

BLOCK = 1 << 16


def main() -> None:
    """Copies until nobody writes any more."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    lost = 0
    while block := _read():
        if lost and not _unwritten(b"\n[hrmdoc: %d bytes found no room and are lost]\n" % lost):
            lost = 0
        lost += len(block) if lost else _unwritten(block)


def _read() -> bytes:
    try:
        return os.read(0, BLOCK)
    except OSError:  # the last who held the terminal has gone
        return b""


def _unwritten(block: bytes) -> int:
    """Writes; how many bytes found no room."""
    while block:
        try:
            block = block[os.write(1, block) :]
        except OSError:
            return len(block)
    return 0


if __name__ == "__main__":
    main()
