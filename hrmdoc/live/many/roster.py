"""The runs below a root, row by row: which are new, renamed, gone or written again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hrmdoc.live.many.entry import Entry
from hrmdoc.live.many.finder import Finder
from hrmdoc.readers import RunGroup

OLD_S = 86_400.0
"""A run that was not written for so long when it was found is none that anybody waits for."""
ASIDE_S = 5.0
"""Seconds between two looks at the files of a run that was put aside."""
RETRY_S = 30.0


class Roster:
    """The rows.

    Args:
        root: the folder.
        old: whether runs are examined that were not written for a day.

    Attributes:
        entries: the runs by their paths below the root.
    """

    def __init__(self, root: str, *, old: bool = False) -> None:
        self.entries: dict[str, Entry] = {}
        self._finder, self._old = Finder(root), old
        self._aside = float("-inf")

    def due(self, now: float) -> bool:
        """Whether to search again."""
        return self._finder.due(now)

    def search(self, now: float) -> Iterator[Entry]:
        """Looks for runs; yields the rows that are new: of runs, and of files that cannot be looked into."""
        found = self._finder.search(now)
        held = {source.path: entry for entry in self.entries.values() for source in entry.group.sources}
        for name, group in found.items():
            known = self.entries.get(name) or _renamed(held, group, found)
            if known is not None:
                _regroup(known, group)
                continue
            entry = self.entries[name] = Entry(name, group)
            if not self._old and time.time() - group.changed > OLD_S:
                entry.set_aside("old")
            else:
                yield entry
        yield from self._unreadable()
        for name in self.entries.keys() - found.keys() - self._finder.problems.keys():
            entry = self.entries[name]
            if entry.watch is None and all(size < 0 for size, _ in entry.stamped()):
                del self.entries[name]

    def _unreadable(self) -> Iterator[Entry]:
        """A row for each file that cannot be looked into."""
        for name, why in self._finder.problems.items():
            if name not in self.entries:
                group = RunGroup(str(Path(self._finder.root) / name), (), 0.0)
                entry = self.entries[name] = Entry(name, group, "unreadable", verdict="no_data", why=why)
                yield entry

    def wake(self, now: float) -> None:
        """Runs that were put aside are followed again once they are written."""
        if now - self._aside < ASIDE_S:
            return
        self._aside = now
        for entry in self.entries.values():
            if entry.watch is not None or entry.state in ("new", "elsewhere"):
                continue
            if entry.state == "unreadable" and now - entry.examined < RETRY_S:
                continue
            stamp = entry.stamped()
            if stamp != entry.stamp and any(size >= 0 for size, _ in stamp):
                entry.state, entry.examined = "new", float("-inf")


def _renamed(held: dict[str, Entry], group: RunGroup, found: dict[str, RunGroup]) -> Entry | None:
    """The run that these files belong to already, though they would be called otherwise by now."""
    known = {held[one.path].name for one in group.sources if one.path in held}
    names = [name for name in known if name not in found]
    return next((one for one in held.values() if one.name in names), None)


def _regroup(entry: Entry, group: RunGroup) -> None:
    """Takes in the files of a run as they were found anew."""
    if entry.group.sources == group.sources:
        return
    entry.group, watch = group, entry.watch
    if watch is not None and not {source.path for source in group.sources} <= set(watch.files):
        with suppress(Exception):  # the next reading says what is wrong
            watch.regroup(group)
