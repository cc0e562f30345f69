"""Watches every run below a folder in one process: new ones are followed as they appear, ended ones leave.

All runs are read in turn. What is new about a run is examined at once; ordinary
examinations go round, the longest waiting first, within a share of one core. So a thousand runs cost as much
as that share and their reading, and what one row shows is known within two seconds, whatever their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from hrmdoc.analysis import Prepared
from hrmdoc.live.many.entry import Entry
from hrmdoc.live.many.finder import Finder
from hrmdoc.live.many.leases import BEAT_S, Leases, share_of
from hrmdoc.live.pace import Urgency
from hrmdoc.live.watch import Update, Watch
from hrmdoc.readers import RunGroup
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

SHARE = 0.05
"""Of one core, for ordinary examinations of all runs."""
POLL_S = 1.5
"""Seconds between two readings of a run where there are many; few are read more often."""
POLL_EACH_S = 0.004
TURN_S = 0.3
"""Seconds after which a turn ends, although more is to be done."""
SAVED_S = 1.0
"""Seconds of unspent work that count later."""
IDLE_S = 3600.0
"""Seconds of silence after which every rule has spoken; the run is put aside until it is written again."""
OLD_S = 86_400.0
"""A run that was not written for so long when it was found is none that anybody waits for."""
ASIDE_S = 5.0
"""Seconds between two looks at the files of a run that was put aside."""
RETRY_S = 30.0

Kind = Literal["found", "examined", "ended", "gone", "unreadable", "elsewhere"]


@dataclass(frozen=True, slots=True)
class News:
    """What became of one run."""

    kind: Kind
    entry: Entry
    watch: Watch | None = None
    update: Update | None = None


class FleetWatch:
    """Follows the runs below a root.

    Args:
        root: the folder.
        prepared: settings and rules.
        options: as `Watch` takes them: facts, metric_roles, remember.
        leases: what is this watcher's; None: everything.
        keep: the folder in which what is found is kept by run; None: beside each, as one watch does.
        steady: seconds of a clock that nobody sets.
        old: whether runs are examined that were not written for a day.

    Attributes:
        entries: the runs by their paths below the root.
    """

    def __init__(
        self,
        root: str,
        prepared: Prepared,
        options: dict[str, Any] | None = None,
        *,
        leases: Leases | None = None,
        keep: Path | None = None,
        steady: Callable[[], float] = time.monotonic,
        old: bool = False,
    ) -> None:
        self.entries: dict[str, Entry] = {}
        self._prepared, self._options = prepared, dict(options or {})
        self._leases, self._keep, self._steady, self._old = leases, keep, steady, old
        self._finder = Finder(root)
        self._credit, self._counted = 0.0, steady()
        self._beaten = self._aside = steady()
        self._waiting: dict[str, tuple[Urgency, Entry]] = {}

    def turn(self) -> Iterator[News]:
        """One round over what is due; ends soon, and waits for nothing."""
        yield from self._share_out()
        now = self._steady()
        if self._finder.due(now):
            yield from self._search(now)
        self._wake(now)
        yield from self._admit()
        yield from self._read()
        yield from self._examine()

    def examine_all(self) -> Iterator[News]:
        """Examines every run once, as it stands."""
        yield from self._search(self._steady())
        for entry in self.entries.values():
            yield from self._guarded(entry, self._once)

    def _once(self, entry: Entry) -> Iterator[News]:
        watch = entry.watch = self._watch(entry)
        watch.poll()
        update = watch.finish()
        entry.take(update)
        yield News("examined", entry, watch, update)
        entry.set_aside("ended" if watch.over else "running")

    @property
    def busy(self) -> bool:
        """Whether a run waits to be read for the first time, or something new to be examined."""
        begun = (one.state == "new" and self._is_mine(one) for one in self.entries.values())
        return any(begun) or any(urgency is Urgency.NEW for urgency, _ in self._waiting.values())

    def finish(self) -> None:
        """Follows nothing any more, and leaves everything to other watchers."""
        for entry in self.entries.values():
            if entry.watch is not None:
                entry.watch.close()
                entry.watch = None
        if self._leases is not None:
            self._leases.close()

    def _is_mine(self, entry: Entry) -> bool:
        return self._leases is None or share_of(entry.name) in self._leases.mine

    def _share_out(self) -> Iterator[News]:
        """Gives a sign of life, and leaves runs that are another watcher's now."""
        if self._leases is None:
            return
        now = self._steady()
        if now - self._beaten < BEAT_S and not self._leases.stale:
            return
        self._beaten = now
        before = set(self._leases.mine)
        self._leases.beat()
        if before == self._leases.mine:
            return
        for entry in self.entries.values():
            if self._is_mine(entry) and entry.state == "elsewhere":
                entry.state = "new"
            elif not self._is_mine(entry) and entry.state != "elsewhere":
                watch = entry.watch
                self._waiting.pop(entry.name, None)
                entry.set_aside("elsewhere")
                yield News("elsewhere", entry, watch)

    def _search(self, now: float) -> Iterator[News]:
        found = self._finder.search(now)
        held = {source.path: entry for entry in self.entries.values() for source in entry.group.sources}
        for name, group in found.items():
            known = self.entries.get(name) or self._renamed(held, group, found)
            if known is not None:
                _regroup(known, group)
                continue
            entry = self.entries[name] = Entry(name, group)
            if not self._old and time.time() - group.changed > OLD_S:
                entry.set_aside("old")
            elif self._is_mine(entry):
                yield News("found", entry)
            else:
                entry.state = "elsewhere"
        yield from self._unreadable()
        for name in self.entries.keys() - found.keys() - self._finder.problems.keys():
            entry = self.entries[name]
            if entry.watch is None and all(size < 0 for size, _ in entry.stamped()):
                del self.entries[name]

    def _unreadable(self) -> Iterator[News]:
        """A row for each file that cannot be looked into."""
        for name, why in self._finder.problems.items():
            known = self.entries.get(name)
            if known is None:
                group = RunGroup(str(Path(self._finder.root) / name), (), 0.0)
                entry = self.entries[name] = Entry(name, group, "unreadable", verdict="no_data", why=why)
                if self._is_mine(entry):
                    yield News("unreadable", entry)

    @staticmethod
    def _renamed(held: dict[str, Entry], group: RunGroup, found: dict[str, RunGroup]) -> Entry | None:
        """The run that these files belong to already, though they would be called otherwise by now."""
        known = {held[one.path].name for one in group.sources if one.path in held}
        names = [name for name in known if name not in found]
        return next((one for one in held.values() if one.name in names), None)

    def _wake(self, now: float) -> None:
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

    def _admit(self) -> Iterator[News]:
        """Reads and examines runs for the first time, the newest first, until the turn is over."""
        fresh = [one for one in self.entries.values() if one.state == "new" and self._is_mine(one)]
        until = self._steady() + TURN_S
        for entry in sorted(fresh, key=lambda one: -one.group.changed):
            if self._steady() > until:
                return
            yield from self._guarded(entry, self._open)

    def _open(self, entry: Entry) -> Iterator[News]:
        entry.watch = self._watch(entry)
        entry.state = "running"
        entry.watch.poll()
        yield from self._look_at(entry)

    def _watch(self, entry: Entry) -> Watch:
        options = dict(self._options)
        if self._keep is not None and options.get("remember", True):
            options["keep"] = self._keep / quote(entry.name, safe="")[-200:]
        return Watch(entry.group.folder, group=entry.group, prepared=self._prepared, **options)

    def _read(self) -> Iterator[News]:
        """Reads what is due to be read, and notes what is to be examined."""
        now = self._steady()
        until = now + TURN_S
        followed = [one for one in self.entries.values() if one.watch is not None and one.polled <= now]
        pause = min(POLL_S, POLL_EACH_S * len(self.entries))
        for entry in followed:
            if self._steady() > until:
                return
            entry.polled = self._steady() + pause
            yield from self._guarded(entry, self._poll)

    def _poll(self, entry: Entry) -> Iterator[News]:
        watch = entry.watch
        assert watch is not None
        watch.poll()
        if watch.gone:
            self._waiting.pop(entry.name, None)
            entry.set_aside("gone")
            yield News("gone", entry, watch)
            return
        urgency = Urgency.NEW if watch.over else watch.urgency()
        if urgency:
            self._waiting[entry.name] = urgency, entry
        else:
            self._waiting.pop(entry.name, None)

    def _examine(self) -> Iterator[News]:
        """Examines what waits, the most urgent and longest waiting first, within the share of a core."""
        now = self._steady()
        self._credit = min(SHARE * SAVED_S, self._credit + SHARE * (now - self._counted))
        self._counted, until = now, now + TURN_S
        for urgency, entry in sorted(self._waiting.values(), key=lambda one: (-one[0], one[1].examined)):
            if (urgency < Urgency.NEW and self._credit <= 0) or self._steady() > until:
                return
            del self._waiting[entry.name]
            began = time.process_time()
            yield from self._guarded(entry, self._look_at)
            if urgency < Urgency.NEW:
                self._credit -= time.process_time() - began

    def _look_at(self, entry: Entry) -> Iterator[News]:
        """Examines one run; what nobody may report any more is not reported."""
        if self._leases is not None and self._leases.stale:
            yield from self._share_out()
        watch = entry.watch
        if watch is None:
            return
        update = watch.finish() if watch.over else watch.examine()
        entry.examined = self._steady()
        entry.take(update)
        if self._leases is not None and self._leases.stale:
            yield from self._share_out()
            if entry.watch is None:
                return
        yield News("examined", entry, watch, update)
        if watch.over:
            entry.set_aside("ended")
            yield News("ended", entry, watch, update)
        elif not watch.incidents.waits and entry.written_s > IDLE_S:
            entry.set_aside("idle")

    def _guarded(self, entry: Entry, step: Callable[[Entry], Iterator[News]]) -> Iterator[News]:
        """A run that cannot be read, or that breaks the doctor, costs its own row and nothing else."""
        try:
            yield from step(entry)
        except Exception as error:  # noqa: BLE001 (the boundary between runs)
            known = entry.state == "unreadable"
            what = str(getattr(error, "what", "")) or f"{type(error).__name__}: {error}"
            entry.why, entry.verdict = redact(clean(what, 300)), entry.verdict or "no_data"
            self._waiting.pop(entry.name, None)
            with suppress(Exception):
                entry.set_aside("unreadable")
            entry.watch, entry.state, entry.examined = None, "unreadable", self._steady()
            if not known:
                yield News("unreadable", entry)


def _regroup(entry: Entry, group: RunGroup) -> None:
    """Takes in the files of a run as they were found anew."""
    if entry.group.sources == group.sources:
        return
    entry.group, watch = group, entry.watch
    if watch is not None and not {source.path for source in group.sources} <= set(watch.files):
        with suppress(Exception):  # the next reading says what is wrong
            watch.regroup(group)
