"""A thread that reports a loop that stands still: for how long, and where. A hang that is killed has left a
line in the log then."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import Protocol

from .hooks import Hook

PATIENCE_S = 10.0
"""No shorter silence is reported, however short the steps are."""
USUAL = 5.0
"""How many times the longest silence so far, as of a checkpoint or an evaluation, a silence has to last."""
FIRST_S = 600.0
"""Before the first step has ended nothing is known of how long one takes."""
FRAMES = 3
POLL_S = 1.0


class Alive(Protocol):
    """What the watchdog needs of a run directory."""

    alive: tuple[float, int]
    """When the loop was last heard of (monotonic seconds), and the step that it had ended."""

    def warn(self, step: int, warning: str) -> None: ...
    def log(self, line: str) -> None: ...


class Watchdog(Hook):
    """From `begin` to `close`, silence of the loop in the thread that began it is reported, again each time
    that it has doubled.

    Args:
        run: knows when the loop was heard of last, and takes the warnings.
        patience_s: the shortest silence that is reported.
        poll_s: how often it looks.
    """

    def __init__(self, run: Alive, patience_s: float = PATIENCE_S, poll_s: float = POLL_S) -> None:
        self._run, self._patience, self._poll = run, patience_s, poll_s
        self._loop = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def begin(self) -> None:
        self._loop = threading.get_ident()
        self._thread.start()

    def close(self) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        (heard, first), longest, reported = self._run.alive, 0.0, 0.0
        while not self._done.wait(self._poll):
            last, step = self._run.alive
            if last != heard:
                if reported:
                    self._run.log(f"the loop goes on after {last - heard:.0f} s")
                longest, heard, reported = max(longest, last - heard), last, 0.0
            silent = time.monotonic() - heard
            if silent >= 2.0 * reported and silent >= (
                max(self._patience, USUAL * longest) if step > first else FIRST_S
            ):
                reported = silent
                self._run.warn(
                    step,
                    f"no step has ended for {silent:.0f} s since step {step}; "
                    f"the loop stands in {self._where()}",
                )

    def _where(self) -> str:
        """The innermost frames of the loop, the last call first."""
        frame = sys._current_frames().get(self._loop)
        stack = traceback.extract_stack(frame) if frame is not None else []
        return " < ".join(f"{one.name} ({one.filename}:{one.lineno})" for one in stack[: -FRAMES - 1 : -1])
