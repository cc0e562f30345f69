"""A terminal for a command whose output goes into a log: where ours is one, programs draw bars and colours as
they would without us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

SETTLE_S = 2.0
"""Seconds in which the last output finds its way into the log."""


class Terminals:
    """What a command writes to: its logs, or terminals that stand before them.

    Args:
        logs: one for output and errors, or one for each.

    Attributes:
        ends: for each log what the command gets.
    """

    def __init__(self, logs: Sequence[BinaryIO]) -> None:
        self._relays: list[subprocess.Popen[bytes]] = []
        self._ours: list[int] = []
        self.ends: list[BinaryIO | int] = [
            self._before(log) if os.isatty(number) else log for number, log in enumerate(logs, 1)
        ]

    @property
    def any(self) -> bool:
        """Whether the command gets a terminal."""
        return bool(self._relays)

    def handed_over(self) -> None:
        """The command has started: its ends are its own."""
        while self._ours:
            os.close(self._ours.pop())

    def settle(self) -> None:
        """Waits until what the ended command wrote stands in the log; something that it left behind may write
        on."""
        for relay in self._relays:
            with suppress(subprocess.TimeoutExpired):
                relay.wait(SETTLE_S)

    def _before(self, log: BinaryIO) -> BinaryIO | int:
        """A terminal before a log; the log itself where this machine has none to give."""
        try:
            import termios

            reading, writing = os.openpty()
        except (ImportError, OSError):
            return log
        self._ours.append(writing)
        modes = termios.tcgetattr(writing)
        modes[1] &= ~termios.OPOST  # line ends stay as they were written
        termios.tcsetattr(writing, termios.TCSANOW, modes)
        _resize(writing)
        program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("relay.py"))]
        self._relays.append(
            subprocess.Popen(
                program, stdin=reading, stdout=log, stderr=subprocess.DEVNULL, start_new_session=True
            )
        )
        os.close(reading)
        return writing


def resized(pid: int) -> None:
    """Gives the terminals of a process the size of ours."""
    for terminal in _terminals_of(pid):
        with suppress(OSError):
            handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
            try:
                _resize(handle)
            finally:
                os.close(handle)


def _terminals_of(pid: int) -> Iterator[str]:
    for number in (1, 2):
        with suppress(OSError):
            name = os.readlink(f"/proc/{pid}/fd/{number}")
            if name.startswith("/dev/pts/"):
                yield name


def _resize(handle: int) -> None:
    import termios

    for ours in (1, 2):
        with suppress(OSError):
            size = os.get_terminal_size(ours)
            termios.tcsetwinsize(handle, (size.lines, size.columns))
            return
