"""What the board said of each run, in the store of results: a server that starts shows it at once, and looks
at those runs again whose files, rules or settings are other ones since."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hrmdoc import settings
from hrmdoc.errors import HrmdocError
from hrmdoc.fleet.store import Store, base_of, keys
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.work import Request, are_compared
from hrmdoc.readers import RunGroup
from hrmdoc.reports.html import capital
from hrmdoc.reports.verdict import SEVEREST
from hrmdoc.web.roots import Roots
from hrmdoc.web.rows import Row

FORMAT = 2
"""Grows with every change of what a row means; what another version kept is shown and looked at again."""
Stamp = tuple[tuple[str, int, int], ...]
T = TypeVar("T")


class Kept:
    """The rows of the runs below some roots. The store is opened, asked and written in a thread of its own:
    it may lie on a slow disk.

    Args:
        roots: the folders; what may be patched depends on them.
        path: the file of the store, by default that of `triage`.
    """

    def __init__(self, roots: Roots, path: Path | None = None) -> None:
        self._roots, self._path = roots, path
        self._store: Store | None = None
        self._thread = ThreadPoolExecutor(1, "kept")

    async def recall(
        self, groups: Sequence[RunGroup], stamps: Sequence[Stamp]
    ) -> dict[str, tuple[Row, bool]]:
        """The rows of runs by their folders, each with whether it still holds; none of one that was never
        examined."""
        return await self._done(lambda: self._recalled(groups, stamps), {})

    async def keep(self, group: RunGroup, stamp: Stamp, row: Row) -> None:
        """Keeps what an examination found of a run whose files stood so when it began."""
        if not row.fault:
            await self._done(lambda: self._keep(group, stamp, row), None)

    def close(self) -> None:
        """Ends the thread with what it is at."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    async def _done(self, work: Callable[[], T], otherwise: T) -> T:
        """What the thread makes of it; wrong settings keep nothing, the workers say so of every run."""
        with suppress(HrmdocError):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        return otherwise

    def _opened(self) -> Store:
        if self._store is None:
            self._store = Store(self._path)
        return self._store

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()

    def _recalled(self, groups: Sequence[RunGroup], stamps: Sequence[Stamp]) -> dict[str, tuple[Row, bool]]:
        store, asked = self._opened(), _asked()
        places = [self._place(group) for group in groups]
        lines = store.lines(places)
        decoder = msgspec.msgpack.Decoder(Row)
        found: dict[str, tuple[Row, bool]] = {}
        base = base_of(asked)
        for group, place, stamp in zip(groups, places, stamps, strict=True):
            key, line = lines.get(place, (b"", b""))
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                row = decoder.decode(line)
                if row.verdict in SEVEREST:
                    found[group.folder] = row, key == self._key(base, stamp)
        others = [one for one in groups if one.folder not in found]
        return {**self._triaged(store, others, replace(asked, compare=are_compared(groups))), **found}

    def _triaged(
        self, store: Store, groups: Sequence[RunGroup], asked: Request
    ) -> Mapping[str, tuple[Row, bool]]:
        """What a triage found of runs that no board showed yet. Looked at again: it keeps no curve."""
        names = keys(groups, asked)
        known = store.results(names)
        return {
            group.folder: (_row(known[name]), False)
            for group, name in zip(groups, names, strict=True)
            if name in known and known[name].verdict in SEVEREST
        }

    def _keep(self, group: RunGroup, stamp: Stamp, row: Row) -> None:
        key = self._key(base_of(_asked()), stamp)
        self._opened().keep_line(self._place(group), key, msgspec.msgpack.encode(row))

    def _place(self, group: RunGroup) -> bytes:
        return _digest(msgspec.msgpack.encode((os.getcwd(), self._roots.paths, group.folder)))

    def _key(self, base: bytes, stamp: Stamp) -> bytes:
        return _digest(msgspec.msgpack.encode((FORMAT, base, stamp)))


def _asked() -> Request:
    """As the workers examine runs.

    Raises:
        HrmdocError: the user's own settings or rules are wrong.
    """
    return Request(settings.load(Path.cwd()))


def _digest(of: bytes) -> bytes:
    return hashlib.blake2b(of, digest_size=20).digest()


def _row(found: Summary) -> Row:
    """A run of a triage in a line of the board."""
    step = f"step {found.last_step:,}" if found.last_step is not None else ""
    return Row(found.verdict, capital(found.headline), capital(found.blame), found.remedy, found.state, step)
