"""What is known of every run: found, followed, examined by the workers, sent to whoever listens."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec import structs

from hrmdoc.readers import RunGroup
from hrmdoc.reports.verdict import SEVEREST
from hrmdoc.web.following import follows
from hrmdoc.web.kept import Kept, Stamp
from hrmdoc.web.roots import Roots, key_of
from hrmdoc.web.rows import Row, is_live, row_of
from hrmdoc.web.workers import WorkerDiedError, Workers

POLL_S = 0.5
SEARCH_S = 10.0
"""Seconds between two searches for runs where no folder changed."""
SETTLE_S = 1.5
"""Seconds at least between two searches: some programs replace a file in their folder each second."""
SPARE = 1.0
"""A run is examined again after this many times what the examination before took, at least."""
REST, REST_S = 9.0, 1.0
"""And after so many times as long where that is no longer than so many seconds."""


@dataclass(slots=True)
class Entry:
    """One run.

    Attributes:
        stamp: how its files stand; `examined`: how they stood when it was examined last.
        recalled: its row is what an earlier server or a triage found, and is looked at again.
    """

    key: str
    name: str
    group: RunGroup
    stamp: Stamp = ()
    examined: Stamp | None = None
    row: Row | None = None
    at: float = 0.0
    busy: Workers | None = None
    recalled: bool = False
    version: int = 0

    @property
    def rank(self) -> tuple[int, float, str]:
        """Its place on the board: the worst first, of equals the one that changed last."""
        worst = len(SEVEREST) if self.row is None else SEVEREST.index(self.row.verdict)
        return worst, -self.group.changed, self.name


@dataclass(slots=True)
class Board:
    """All runs below the roots.

    Args:
        roots: where they lie.
        workers: who examines them.
        followers: who examines large runs that are being written, in processes that keep what they read;
            None: the workers do.
        kept: what was found before; None begins with nothing, and keeps nothing.
    """

    roots: Roots
    workers: Workers
    kept: Kept | None = None
    followers: Workers | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    version: int = 0
    searched: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _folders: dict[str, int] = field(default_factory=dict)
    _next_search: float = 0.0
    _settled: float = 0.0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def ranked(self) -> list[Entry]:
        """The runs, the worst first."""
        return sorted(self.entries.values(), key=lambda one: one.rank)

    @property
    def waiting(self) -> int:
        """How many runs were never examined yet."""
        return sum(one.row is None for one in self.entries.values())

    @property
    def recalled(self) -> int:
        """How many are shown as they were found before, until they are looked at again."""
        return sum(one.recalled for one in self.entries.values())

    async def keep(self) -> None:
        """Follows the folders until it is cancelled."""
        while True:
            await self.step()
            await asyncio.sleep(POLL_S)

    async def step(self) -> None:
        """One round: searches where something appeared, and gives changed runs to idle workers."""
        now = time.monotonic()
        if now >= self._next_search or (now >= self._settled and await asyncio.to_thread(self._moved)):
            await self._search()
        stamps = await asyncio.to_thread(stamps_of, [one.group for one in self.entries.values()])
        for entry, stamp in zip(self.entries.values(), stamps, strict=True):
            if stamp != entry.stamp:
                entry.stamp = stamp
                newest = max((at for _, _, at in stamp), default=0) / 1e9
                entry.group = _changed(entry.group, newest)
                if _is_gone(stamp):
                    self._next_search = 0.0
        self._dispatch()

    async def _search(self) -> None:
        began = time.monotonic()
        groups = await asyncio.to_thread(self.roots.runs)
        took = time.monotonic() - began
        self._next_search = began + took + max(SEARCH_S, 20 * took)
        self._settled = began + took + max(SETTLE_S, 5 * took)
        found = {key_of(group.folder): group for group in groups}
        gone = [key for key in self.entries if key not in found]
        for key in gone:
            del self.entries[key]
        fresh = [key for key in found if key not in self.entries]
        new = [Entry(key, self.roots.name(found[key].folder), found[key]) for key in fresh]
        await self._recall(new)
        self.entries.update((entry.key, entry) for entry in new)
        for key, group in found.items():
            self.entries[key].group = group
        self._folders = await asyncio.to_thread(_folders_of, self.roots, groups)
        if gone or fresh or not self.searched:
            self.searched = True
            self._tell(*fresh)

    async def _recall(self, entries: list[Entry]) -> None:
        """Has runs that were not met yet begin with what is kept of them."""
        if self.kept is None or not entries:
            return
        groups = [one.group for one in entries]
        stamps = await asyncio.to_thread(stamps_of, groups)
        known = await self.kept.recall(groups, stamps)
        for entry, stamp in zip(entries, stamps, strict=True):
            if entry.group.folder in known:
                entry.row, holds = known[entry.group.folder]
                entry.recalled, entry.stamp = not holds, stamp
                entry.examined = stamp if holds else None

    def _moved(self) -> bool:
        """Whether a folder got or lost an entry since the last search."""
        return any(_time_of(folder) != before for folder, before in self._folders.items())

    def _dispatch(self) -> None:
        now = time.monotonic()
        due = [one for one in self.entries.values() if self._is_due(one, now)]
        due.sort(key=lambda one: (one.row is not None, -one.group.changed))
        idle = Counter({pool: pool.number for pool in (self.workers, self.followers) if pool is not None})
        idle.subtract(one.busy for one in self.entries.values() if one.busy is not None)
        for entry in due:
            if not any(number > 0 for number in idle.values()):
                break
            pool = self._pool_of(entry)
            if idle[pool] > 0:
                idle[pool] -= 1
                entry.busy = pool
                task = asyncio.create_task(self._look(entry, pool))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _pool_of(self, entry: Entry) -> Workers:
        """Who is to examine a run."""
        if self.followers is not None and is_live(entry.group) and follows(entry.group):
            return self.followers
        return self.workers

    @staticmethod
    def _is_due(entry: Entry, now: float) -> bool:
        fell_silent = entry.row is not None and entry.row.live and not is_live(entry.group)
        if (
            entry.busy is not None
            or _is_gone(entry.stamp)
            or (entry.stamp == entry.examined and not fell_silent)
        ):
            return False
        return entry.row is None or now - entry.at >= max(
            SPARE * entry.row.cost, min(REST_S, REST * entry.row.cost)
        )

    async def _look(self, entry: Entry, pool: Workers) -> None:
        stamp = entry.stamp
        try:
            row = await pool.call(row_of, entry.group, self.roots)
        except WorkerDiedError as error:
            row = Row("no_data", error.what, cost=60.0, fault=True)
        finally:
            entry.busy = None
        entry.row, entry.examined, entry.at, entry.recalled = row, stamp, time.monotonic(), False
        self._tell(entry.key)
        self._dispatch()
        if self.kept is not None:
            await self.kept.keep(entry.group, stamp, row)

    def _tell(self, *keys: str) -> None:
        self.version += 1
        for key in keys:
            if key in self.entries:
                self.entries[key].version = self.version
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, since: int) -> AsyncIterator[tuple[int, list[str]]]:
        """The version and the runs that changed, each time that some did; what changed meanwhile is told
        together."""
        while True:
            event = self._news
            if self.version == since:
                with suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), 15.0)
                await asyncio.sleep(0.2)
            if self.version != since:
                before, since = since, self.version
                yield since, [key for key, one in self.entries.items() if one.version > before]


def _changed(group: RunGroup, at: float) -> RunGroup:
    """The group as of its newest file."""
    return structs.replace(group, changed=max(at, group.changed))


def stamps_of(groups: list[RunGroup]) -> list[Stamp]:
    return [tuple(_stamp(str(source.file)) for source in group.sources) for group in groups]


def _is_gone(stamp: Stamp) -> bool:
    """Whether no file of a run is there any more: none is examined, and the next search forgets it."""
    return bool(stamp) and all(size < 0 for _, size, _ in stamp)


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, -1, 0
    return path, found.st_size, found.st_mtime_ns


def _folders_of(roots: Roots, groups: list[RunGroup]) -> dict[str, int]:
    """The folders of all sources up to the roots, and when each last got or lost an entry."""
    found: set[str] = set(roots.paths)
    for group in groups:
        for source in group.sources:
            folder = os.path.dirname(source.path)
            while folder not in found and roots.hold(folder):
                found.add(folder)
                folder = os.path.dirname(folder)
    return {folder: _time_of(folder) for folder in found}


def _time_of(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
