"""Reads the heartbeat that the user named, in a thread: a Redis that is away holds up no watch."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable

from hrmdoc.beats import ENDED, Sign, Target
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

EVERY_S = 2.0


class Heartbeats:
    """When a run gave its last sign of life.

    Args:
        of: where the signs are.
        say: gets a line when they cannot be read.
        steady: seconds of a clock that nobody sets.
        owed: whether a run that never gave a sign is silent; else nothing is known of it.
    """

    def __init__(
        self,
        of: Target,
        say: Callable[[str], None],
        steady: Callable[[], float] = time.monotonic,
        *,
        owed: bool = True,
    ) -> None:
        self._of, self._say, self._steady = of, say, steady
        self._began = steady() if owed else math.nan
        self._stamp: object = None
        self._seen = math.nan
        self._ended = self._failing = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeats", daemon=True)

    def start(self) -> Heartbeats:
        """Reads once, then again and again until `close`."""
        self.read()
        self._thread.start()
        return self

    def close(self) -> None:
        """Reads no more."""
        self._done.set()

    def beaten(self) -> float:
        """The last sign on the steady clock. Where none was ever seen, when the watch began: a key that is
        gone is silence. NaN where nothing is known, since it cannot be read, or the run has ended."""
        if self._ended or self._failing:
            return math.nan
        return self._began if math.isnan(self._seen) else self._seen

    @property
    def closed(self) -> bool:
        """Whether nobody asks for it any more."""
        return self._done.is_set()

    def fail(self) -> None:
        """Takes in that nothing can be read where it would be."""
        self._failing = True

    def read(self) -> bool:
        """Looks for a new sign; whether the place could be read."""
        now = self._steady()
        try:
            found = self._of.read()
        except Exception as error:  # noqa: BLE001 (whatever a client raises: the watch goes on)
            if not self._failing:
                self._say(f"the heartbeat cannot be read: {redact(clean(str(error), 200))}")
            self._failing = True
            return False
        self._failing = False
        if found is not None:
            self._take(found, now)
        return True

    def _take(self, found: Sign, now: float) -> None:
        if found.stamp == self._stamp:
            return
        # What came since the last poll is new; the age of what lay there already is its own.
        self._seen = now - found.age_s if self._stamp is None else now
        self._stamp = found.stamp
        try:
            tree = json.loads(found.text)
        except (ValueError, RecursionError):
            tree = None
        state = tree.get("state") if isinstance(tree, dict) else None
        self._ended = state in ENDED

    def _work(self) -> None:
        while not self._done.wait(EVERY_S):
            self.read()
