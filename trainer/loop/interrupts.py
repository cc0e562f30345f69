"""Signals that end a run in good order: it saves a checkpoint at the next step boundary and says so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name))


class Interrupts:
    """Remembers the first signal. A second one of the same kind acts as if nobody had listened."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.received = signal.Signals(number)
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@contextmanager
def listening() -> Iterator[Interrupts]:
    """Listens within the block. Outside the main thread Python allows no handlers, and nothing is
    received."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = {number: signal.signal(number, interrupts._note) for number in SIGNALS}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
