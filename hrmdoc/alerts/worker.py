"""Notifies one target, in a thread of its own: neither the watch nor another target waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from hrmdoc.alerts.groups import Place
from hrmdoc.alerts.ledger import Ledger, ledger_file, orphans
from hrmdoc.alerts.message import Message
from hrmdoc.alerts.outbox import Answer, Outbox
from hrmdoc.alerts.targets.alertmanager import LASTS_S, LEFT_S
from hrmdoc.live.incidents import Incident
from hrmdoc.routes import Route
from hrmdoc.text.redact import redact

PAUSE_S = 0.5
"""Seconds between two looks at what is due; others may have put something into the queue."""
FORGET_S = 90 * 86_400.0
"""Seconds after which it is forgotten what a target was sent of a run that ended sick."""
RENEW_S = 60.0
"""Seconds between two renewals of what is open at an Alertmanager."""


class Worker:
    """Groups, queues and sends what one route is to report.

    Args:
        route: the target, and what it is sent.
        folder: where its queue and ledgers lie.
        deliver: sends one message.
        renew: shows an Alertmanager what is still open, for so many seconds; its answer does not matter.
        say: gets a line when the target fails.
        now: the wall clock, Unix seconds.
    """

    def __init__(
        self,
        route: Route,
        folder: Path,
        deliver: Callable[[Message], Answer],
        renew: Callable[[Message, float], Answer],
        say: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.route = route
        self.outbox = Outbox(folder, route, say)
        self._deliver, self._renew, self._now = deliver, renew, now
        self._say, self._fault = say, ""
        self._ledgers: dict[Path, Ledger] = {}
        self._guard = threading.Lock()
        self._wake, self._ending = threading.Event(), threading.Event()
        self._renewed = now()
        self._thread = threading.Thread(target=self._work, name=f"alerts {route.name}", daemon=True)

    def start(self) -> None:
        """Begins to send; what a process before this one left behind goes first."""
        self._thread.start()

    def follow(self, run: Path, place: Place, *, again: bool = False, beside: bool = False) -> None:
        """Reports this run from now on, and no more the one before; `again`: it takes the place of that
        one, whose incidents are over; `beside`: the others are reported too."""
        with self._guard:
            for known, ledger in () if beside else [*self._ledgers.items()]:
                if again:
                    ledger.end(self._now())
                ledger.tick(self._now(), self.outbox.put, flush=True)
                ledger.close()
                del self._ledgers[known]
            if run not in self._ledgers:
                file = ledger_file(self.outbox.folder, run)
                self._ledgers[run] = Ledger(file, self.route, place)

    def leave(self, run: Path) -> None:
        """Leaves a run to another process, which tells what is still to be told."""
        with self._guard:
            ledger = self._ledgers.pop(run, None)
            if ledger is not None:
                ledger.close()

    def take(self, incidents: Iterable[Incident], run: Path | None = None) -> None:
        """Takes in how incidents of a run stand, by default of the one that it follows."""
        changes = list(incidents)
        with self._guard:
            for known, ledger in self._ledgers.items():
                if run in (None, known):
                    ledger.take(changes, self._now())
        self._wake.set()

    def work(self, *, flush: bool = False) -> bool:
        """What the thread does again and again; whether nothing is left that could be sent."""
        with self._guard:
            now = self._now()  # not before: messages go out in the order of their times
            for ledger in self._ledgers.values():
                ledger.tick(now, self.outbox.put, flush=flush)
        sent = self.outbox.send_due(now, self._deliver, at_once=flush)
        if self.route.target == "alertmanager" and not 0 <= now - self._renewed < RENEW_S:
            self._renewed = now
            self._show_open(LASTS_S)
        return sent

    def adopt(self) -> None:
        """Queues what was still to be sent of runs that nobody watches any more, and forgets the oldest."""
        for ledger in orphans(self.outbox.folder, self.route):
            ledger.tick(self._now(), self.outbox.put, flush=True)
            ledger.close(forget_before=self._now() - FORGET_S)

    def end(self) -> None:
        """Ends the thread after one more try; `join` waits for it."""
        self._ending.set()
        self._wake.set()

    def join(self, seconds: float) -> None:
        """Waits for the last try; a target that hangs is left behind."""
        self._thread.join(max(0.0, seconds))
        if not self._thread.is_alive():
            for ledger in self._ledgers.values():
                ledger.close()

    def _work(self) -> None:
        self._surely(self.adopt)
        while not self._ending.is_set():
            self._surely(self.work)
            self._wake.wait(PAUSE_S)
            self._wake.clear()
        self._surely(partial(self.work, flush=True))
        if self.route.target == "alertmanager":
            self._surely(partial(self._show_open, LEFT_S))

    def _surely(self, do: Callable[[], object]) -> None:
        """No fault ends the thread: what comes later is sent all the same."""
        try:
            do()
        except Exception as error:  # noqa: BLE001
            words = redact(f"a fault of hrmdoc itself: {type(error).__name__}: {error}")
            if words != self._fault:
                self._say(f"{self.route.name}: {words}")
            self._fault = words

    def _show_open(self, lasts_s: float) -> None:
        with self._guard:
            now = self._now()
            standing = [one.message(g, now) for one in self._ledgers.values() for g in one.open]
        for message in standing:
            self._renew(message, lasts_s)
