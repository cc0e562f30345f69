"""Watches every run below a folder in one process: new ones are followed as they appear, ended ones leave.

All runs are read in turn. What is new about a run is examined at once; ordinary
examinations go round, the longest waiting first, within a share of one core, which is the less the more the
reading takes. So a thousand runs cost a fifth of a core, and what one row shows is known within two seconds,
whatever their number.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hrmdoc.analysis import Prepared
from hrmdoc.live.many.beats import Beats
from hrmdoc.live.many.entry import Entry
from hrmdoc.live.many.leases import BEAT_S, Leases, share_of
from hrmdoc.live.many.news import News
from hrmdoc.live.many.purse import Purse
from hrmdoc.live.many.roster import Roster
from hrmdoc.live.many.treating import Treating
from hrmdoc.live.pace import Urgency
from hrmdoc.live.watch import Watch
from hrmdoc.text.clean import clean
from hrmdoc.text.redact import redact

POLL_S = 1.5
"""Seconds between two readings of a run where there are many; few are read more often."""
POLL_EACH_S = 0.004
TURN_S = 0.3
"""Seconds after which a turn ends, although more is to be done."""
IDLE_S = 3600.0
"""Seconds of silence after which every rule has spoken; the run is put aside until it is written again."""
POINTS = 20_000_000
"""Points that are kept of all runs that are followed, each as many: some 300 MB. A run that has more rests:
it is read again whenever it is examined."""
HOLD_S = 20.0
"""Seconds for which lines may be held back that are like those before them, and for which none is after
something was new."""
READ_S = 0.1
"""Seconds for which one run is read at a time; what is left waits until others were read."""


class FleetWatch:
    """Follows the runs below a root.

    Args:
        root: the folder.
        prepared: settings and rules.
        options: as `Watch` takes them: facts, metric_roles, remember, act.
        beats: where the runs say that they live, beside their own folders.
        leases: what is this watcher's; None: everything.
        keep: the folder in which what is found is kept by run; None: beside each, as one watch does.
        poll_s: seconds between two readings of a run; by default the more the more runs there are.
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
        beats: Beats | None = None,
        poll_s: float | None = None,
        steady: Callable[[], float] = time.monotonic,
        old: bool = False,
    ) -> None:
        self._roster = Roster(root, old=old)
        self.entries = self._roster.entries
        self._prepared, self._options = prepared, dict(options or {})
        self._leases, self._keep, self._steady = leases, keep, steady
        self._treating, self._beats, self._poll_s = Treating(), beats, poll_s
        self._purse = Purse(steady)
        self._beaten = steady()
        self._waiting: dict[str, tuple[Urgency, Entry]] = {}
        self._points_each = POINTS

    def turn(self) -> Iterator[News]:
        """One round over what is due; ends soon, and waits for nothing."""
        yield from self._share_out()
        if self._beats is not None and self._leases is not None:
            self._beats.elsewhere = tuple(
                one.name for one in self.entries.values() if one.state == "elsewhere"
            )
        now = self._steady()
        if self._roster.due(now):
            yield from self._search(now)
        self._roster.wake(now)
        yield from self._treated()
        yield from self._admit()
        yield from self._read()
        yield from self._examine()

    def _treated(self) -> Iterator[News]:
        """What was done about runs."""
        for entry, watch, update in self._treating.done():
            if update.actions:
                yield News("treated", entry, watch, update)

    def examine_all(self) -> Iterator[News]:
        """Examines every run once, as it stands."""
        yield from self._search(self._steady())
        for entry in self.entries.values():
            if entry.state != "unreadable":
                yield from self._guarded(entry, self._once)

    def _once(self, entry: Entry) -> Iterator[News]:
        watch = entry.watch = self._watch(entry)
        watch.poll()
        if self._options.get("act") and not watch.over:
            yield News("treated", entry, watch, watch.examine())  # as a run that goes on
        update = watch.finish()
        entry.take(update)
        yield News("examined", entry, watch, update)
        entry.set_aside("ended" if watch.over else "idle" if entry.written_s > IDLE_S else "running")

    @property
    def busy(self) -> bool:
        """Whether a run waits to be read for the first time, or something new to be examined."""
        begun = (one.state == "new" and self._is_mine(one) for one in self.entries.values())
        return any(begun) or any(urgency is Urgency.NEW for urgency, _ in self._waiting.values())

    @property
    def behind(self) -> bool:
        """Whether more of a run is there than was read."""
        return any(not math.isnan(one.behind) for one in self.entries.values())

    def finish(self) -> list[News]:
        """Follows nothing any more, and leaves everything to other watchers; what was being done about runs
        is waited for, for some seconds."""
        done = self._treating.close()
        if self._beats is not None:
            self._beats.close()
        for entry in self.entries.values():
            if entry.watch is not None:
                entry.watch.close()
                entry.watch = None
        if self._leases is not None:
            self._leases.close()
        return [News("treated", *one) for one in done if one[2].actions]

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
        for entry in self._roster.search(now):
            if not self._is_mine(entry):
                entry.state = "elsewhere"
            else:
                yield News("unreadable" if entry.state == "unreadable" else "found", entry)

    def _admit(self) -> Iterator[News]:
        """Reads and examines runs for the first time, the newest first, until the turn is over."""
        fresh = [one for one in self.entries.values() if one.state == "new" and self._is_mine(one)]
        until = self._steady() + TURN_S
        for entry in sorted(fresh, key=lambda one: -one.group.changed):
            if self._steady() > until:
                return
            yield from self._guarded(entry, self._open)

    def _open(self, entry: Entry) -> Iterator[News]:
        watch = entry.watch = self._watch(entry)
        entry.state = "running"
        self._poll_within(watch)
        if watch.behind:
            entry.behind = self._steady()  # it is examined once all of it was read
        else:
            yield from self._look_at(entry)

    def _poll_within(self, watch: Watch, *, patient: bool = False) -> None:
        until = self._steady() + READ_S
        watch.poll(lambda: self._steady() > until, patient=patient)

    def _watch(self, entry: Entry) -> Watch:
        options = dict(self._options)
        if self._keep is not None and options.get("remember", True):
            options["keep"] = self._keep / quote(os.fsencode(entry.name), safe="")[-200:]
        if self._beats is not None:
            options["heartbeats"] = self._beats.of(entry.name, entry.group.folder, entry.inside)
        return Watch(entry.group.folder, group=entry.group, prepared=self._prepared, **options)

    def _read(self) -> Iterator[News]:
        """Reads what is due to be read, and notes what is to be examined."""
        now = self._steady()
        until = now + TURN_S
        every = [one for one in self.entries.values() if one.is_followed]
        followed = [one for one in every if one.polled <= now]
        self._points_each = POINTS // max(1, len(every))
        pause = self._poll_s or min(POLL_S, POLL_EACH_S * len(self.entries))
        for entry in sorted(followed, key=lambda one: one.polled):  # none waits where a turn is too short
            if self._steady() > until:
                return
            entry.polled = self._steady() + pause
            yield from self._guarded(entry, self._poll)

    def _poll(self, entry: Entry) -> Iterator[News]:
        watch = entry.watch
        assert watch is not None
        now = self._steady()
        patient = entry.calm <= now < entry.taken + HOLD_S
        entry.taken = entry.taken if patient else now
        self._poll_within(watch, patient=patient)
        if not patient:
            watch.rest(self._points_each)
        if watch.gone:
            self._waiting.pop(entry.name, None)
            entry.set_aside("gone")
            yield News("gone", entry, watch)
            return
        if entry.is_behind(watch.behind, self._steady()):
            entry.polled = self._steady()  # soon, and after those who wait longer
            return
        urgency = Urgency.NEW if watch.over else watch.urgency()
        if watch.restless or urgency is Urgency.NEW:
            entry.calm = now + HOLD_S
        if urgency:
            self._waiting[entry.name] = urgency, entry
        else:
            self._waiting.pop(entry.name, None)

    def _examine(self) -> Iterator[News]:
        """Examines what waits, the most urgent and longest waiting first, within the share of a core."""
        self._purse.fill()
        until = self._steady() + TURN_S
        for urgency, entry in sorted(self._waiting.values(), key=lambda one: (-one[0], one[1].examined)):
            ordinary = urgency < Urgency.NEW
            if (ordinary and self._purse.is_empty) or self._steady() > until:
                return
            del self._waiting[entry.name]
            with self._purse.paid() if ordinary else nullcontext():
                yield from self._guarded(entry, self._look_at)

    def _look_at(self, entry: Entry) -> Iterator[News]:
        """Examines one run; what nobody may report any more is not reported."""
        if self._leases is not None and self._leases.stale:
            yield from self._share_out()
        watch = entry.watch
        if watch is None:
            return
        update = watch.finish() if watch.over else watch.examine(treat=False)
        entry.examined = self._steady()
        entry.take(update)
        if self._leases is not None and self._leases.stale:
            yield from self._share_out()
            if entry.watch is None:
                return
        yield News("examined", entry, watch, update)
        told, entry.ended = entry.ended, watch.over
        if watch.over:
            entry.set_aside("ended")
            if not told:
                yield News("ended", entry, watch, update)
            return
        self._treating.begin(entry, watch, update)
        if entry.treated is not None:
            return
        if not watch.incidents.waits and entry.written_s > IDLE_S:
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
