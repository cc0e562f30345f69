"""All targets of one user, notified of one run after the other."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from hrmdoc.alerts import targets
from hrmdoc.alerts.groups import Place
from hrmdoc.alerts.message import Message, link_to
from hrmdoc.alerts.outbox import Answer
from hrmdoc.alerts.targets import alertmanager, apprise
from hrmdoc.alerts.targets.access import Access
from hrmdoc.alerts.worker import Worker
from hrmdoc.errors import ConfigError
from hrmdoc.live.incidents import Incident
from hrmdoc.paths import state_dir
from hrmdoc.routes import Alerts, Route, check
from hrmdoc.text.clean import clean

LAST_S = 10.0
"""Seconds that the end of a watch waits for the last deliveries; what is left stays queued."""


class Alerter:
    """Notifies the targets in the settings of the incidents of a run.

    Args:
        alerts: the settings.
        origin: their file.
        say: gets a line when a target fails; on standard error by default.
        home: where what is to be sent is kept, by default in the user's state folder.

    Raises:
        ConfigError: a route can never reach anybody.
    """

    def __init__(
        self,
        alerts: Alerts,
        origin: str = "",
        say: Callable[[str], None] | None = None,
        home: Path | None = None,
    ) -> None:
        self._link = alerts.link
        self._said = say or _complain
        self.workers = [
            Worker(
                route,
                folder_of(route, origin, home),
                partial(targets.send, route=route, origin=origin),
                partial(_renew, route=route, origin=origin),
                self._said,
            )
            for route in checked(alerts, origin)
        ]
        self._following: Path | None = None

    def start(self) -> Alerter:
        """Begins to send, with what was left behind before."""
        for worker in self.workers:
            worker.start()
        return self

    def follow(self, run: str, known: Iterable[Incident] = (), *, again: bool = False) -> None:
        """Reports the run at this path from now on.

        Args:
            known: its incidents so far; those that the targets were notified of are not sent again.
            again: it is the one before, started again: what was open of that is over.
        """
        whole = Path(run).absolute()
        if self._following == whole:
            return
        self._following = whole
        for worker in self.workers:
            worker.follow(whole, self._place(whole), again=again)
        self.notify(known)

    def follow_beside(self, run: str, incidents: Iterable[Incident]) -> None:
        """Tells of the incidents of this run as well as of others; those that the targets were told of are
        not told again."""
        whole, changes = Path(run).absolute(), list(incidents)
        for worker in self.workers:
            worker.follow(whole, self._place(whole), beside=True)
            worker.take(changes, whole)

    def leave(self, run: str) -> None:
        """Leaves a run to another process."""
        for worker in self.workers:
            worker.leave(Path(run).absolute())

    def _place(self, whole: Path) -> Place:
        name = clean(str(whole), 1000).encode(errors="backslashreplace").decode()
        return Place(name, platform.node(), link_to(self._link, name))

    def notify(self, incidents: Iterable[Incident]) -> None:
        """Reports changes; returns at once."""
        changes = list(incidents)
        for worker in self.workers:
            worker.take(changes)

    def standing(self) -> Iterator[tuple[str, int, int, int]]:
        """Of each route: its name, what waits, what was delivered, and how often it failed in a row."""
        for worker in self.workers:
            box = worker.outbox
            yield worker.route.name, len(box.waiting()), box.delivered, box.failing().count

    def close(self, wait_s: float = LAST_S) -> None:
        """Ends with a last try for each target; what is not taken in time stays queued, and is said."""
        for worker in self.workers:
            worker.end()
        until = time.monotonic() + wait_s
        for worker in self.workers:
            worker.join(until - time.monotonic())
            if left := len(worker.outbox.waiting()):
                way = "the next watch sends them, or `hrmdoc alerts retry`"
                self._said(f"{worker.route.name}: {left} not delivered yet; {way}")


def checked(alerts: Alerts, origin: str) -> tuple[Route, ...]:
    """The routes, each of which can reach somebody.

    Raises:
        ConfigError: one cannot.
    """
    routes = alerts.routes
    for route in routes:
        check(route, origin)
        if route.target == "apprise" and not apprise.is_installed():
            raise ConfigError(
                f"alerts: route {route.name!r} needs apprise",
                file=origin or None,
                hint="pip install 'hrmdoc[alerts]'",
            )
    return routes


def folder_of(route: Route, origin: str, home: Path | None = None) -> Path:
    """Where what a route is to send is kept: another settings file has other routes of the same name."""
    whose = hashlib.sha256(f"{origin}\0{route.name}".encode(errors="backslashreplace")).hexdigest()[:8]
    return (home or state_dir() / "alerts") / f"{route.name}-{whose}"


def _renew(message: Message, lasts_s: float, *, route: Route, origin: str) -> Answer:
    try:
        return alertmanager.send(message, Access.of(route, origin), lasts_s)
    except ConfigError as error:
        return Answer(error.what)


def _complain(words: str) -> None:
    print(f"hrmdoc: alerts: {words}", file=sys.stderr)  # noqa: T201
