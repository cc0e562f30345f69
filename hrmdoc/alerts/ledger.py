"""What one route was sent of one run, kept on disk: a watch that starts again sends nothing twice and forgets
nothing, whenever the one before it was killed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from hrmdoc.alerts.groups import Group, Groups, Place
from hrmdoc.alerts.message import Message
from hrmdoc.live.incidents import Incident
from hrmdoc.locks import Lock, acquire
from hrmdoc.paths import read_kept, replace_file
from hrmdoc.routes import Route


class _Page(Struct):
    """A ledger as it is kept."""

    place: Place
    groups: dict[str, Group]


class Ledger:
    """Groups the incidents of one run for one route.

    Of several processes that watch the same run the first one reports; another takes over when it has ended.
    What cannot be written is kept in memory.

    Args:
        file: where it is kept.
        route: how incidents are grouped, and when they are sent.
        place: the run, as messages name it; None takes what the file says.
    """

    def __init__(self, file: Path, route: Route, place: Place | None = None) -> None:
        self._file = file
        self._lock: Lock | None = None
        self._latest: dict[str, Incident] = {}
        self._unsaved = False
        self._route = route
        self.place = place or Place("", "", "")
        self._groups = Groups(route, {})

    def take(self, incidents: Iterable[Incident], now: float) -> None:
        """Takes in how incidents stand; one that is known so already says nothing."""
        changes = [printable(one) for one in incidents]
        self._latest.update((one.symptom, one) for one in changes)
        if self.is_mine(now):
            self._take(changes, now)

    def _take(self, changes: Iterable[Incident], now: float) -> None:
        for incident in changes:
            self._unsaved |= self._groups.take(incident, self.place, now)
        self._save()

    def tick(self, now: float, put: Callable[[Message], None], *, flush: bool = False) -> None:
        """Puts into the outbox what is due; `flush`: nobody will be there to do it later."""
        if not self.is_mine(now):
            return
        for group, message in self._groups.due(now, self.place, flush=flush):
            put(message)
            self._groups.mark(group, message)
            self._unsaved = True
        self._groups.prune()
        self._save()

    def is_mine(self, now: float) -> bool:
        """Whether this process reports the run; takes it over where nobody else does."""
        if self._lock is None:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._lock = acquire(self._file.with_suffix(".lock"))
            except OSError:
                self._lock = Lock(-1)  # there is nothing to share
            if self._lock is not None:
                self._load()
                self._take(self._latest.values(), now)
        return self._lock is not None

    @property
    def open(self) -> list[Group]:
        """Groups that the target takes to be open."""
        return [one for one in self._groups.groups.values() if one.notified and not one.over]

    def message(self, group: Group, now: float) -> Message:
        """How an open group stands."""
        return self._groups.standing(group, self.place, now)

    def end(self, now: float) -> None:
        """All that is open is over: another run took the place of this one."""
        members = [one for group in self._groups.groups.values() for one in group.members.values()]
        self.take([replace(one, change="resolved", at=now) for one in members if one.is_open], now)

    def close(self, forget_before: float = 0.0) -> None:
        """Leaves the run to other processes; what was written last before that time is forgotten."""
        self._save()
        if self._lock is not None:
            if not self._groups.groups or self._written() < forget_before:
                with suppress(OSError):
                    self._file.unlink()
            self._lock.release()
            self._lock = None

    def _written(self) -> float:
        try:
            return self._file.stat().st_mtime
        except OSError:
            return math.inf

    def _load(self) -> None:
        with suppress(OSError, msgspec.MsgspecError, RecursionError):
            page = msgspec.json.decode(read_kept(self._file), type=_Page)
            self._groups = Groups(self._route, page.groups)
            if not self.place.run:
                self.place = page.place

    def _save(self) -> None:
        if self._unsaved and self._lock is not None:
            page = msgspec.json.encode(_Page(self.place, self._groups.groups)).decode()
            self._unsaved = not replace_file(self._file, page, durable=True)


def ledger_file(folder: Path, run: Path) -> Path:
    """Where the ledger of a run stands, below the folder of its route."""
    name = hashlib.sha256(str(run).encode(errors="backslashreplace")).hexdigest()[:16]
    return folder / "runs" / f"{name}.json"


def orphans(folder: Path, route: Route) -> Iterator[Ledger]:
    """Ledgers of runs that nobody watches any more."""
    for file in sorted((folder / "runs").glob("*.json")):
        yield Ledger(file, route)


def printable(incident: Incident) -> Incident:
    """The incident with the name of its file as text: a name may hold any bytes, JSON not."""
    words = {
        name: getattr(incident, name).encode(errors="backslashreplace").decode()
        for name in ("title", "evidence", "file")
    }
    return replace(incident, **words)
