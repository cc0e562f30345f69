"""What a supervisor is asked by signals: it is meant for the command, and for the plan to start it again."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

from hrmdoc import systems
from hrmdoc.supervision.child import Child

PASSED_ON = systems.signals("SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2")
"""A hang-up is not among them: the command needs no terminal, and goes on without one."""
ENDING = systems.signals("SIGINT", "SIGTERM", "SIGQUIT")
IMPATIENT = 3
"""Who asks so often to end wants no last checkpoint."""


class Signals:
    """While it is entered, signals are passed on to `child`, and noted.

    Attributes:
        child: the command that runs now, None between two tries.
        passed: the signals that came, in order.
        ending: set once the supervisor was asked to end.
    """

    def __init__(self) -> None:
        self.child: Child | None = None
        self.passed: list[int] = []
        self.ending = threading.Event()
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        for number in (*PASSED_ON, signal.SIGWINCH):
            self._before[number] = signal.signal(number, self._pass_on)
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what `signal` gave back

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGWINCH:
            self.passed.append(number)
        if number in ENDING:
            self.ending.set()
        if self.child is not None:
            often = self.passed.count(signal.SIGINT) >= IMPATIENT
            self.child.send(signal.SIGKILL if often and number == signal.SIGINT else number)

    def explains(self, status: int | None) -> bool:
        """Whether the command ended as it was asked to."""
        return self.ending.is_set() or (status is not None and -status in self.passed)
