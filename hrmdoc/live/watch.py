"""Watches a run: reads what is new, examines it, says what opened and what is over, and ends with a
summary."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hrmdoc.analysis import Analysis, AnalysisSession, Prepared
from hrmdoc.beats import target
from hrmdoc.live.follow import Follower
from hrmdoc.live.heartbeats import Heartbeats
from hrmdoc.live.incidents import Incident, IncidentLog
from hrmdoc.live.monitoring import Monitoring
from hrmdoc.live.novelty import Novelty
from hrmdoc.live.pace import Pace, Urgency
from hrmdoc.live.pulse import Pulse
from hrmdoc.live.room import free_space
from hrmdoc.live.state import state_folder
from hrmdoc.live.taken import TakenAction
from hrmdoc.live.treatment import Treatment
from hrmdoc.live.waker import Waker
from hrmdoc.paths import replace_file
from hrmdoc.readers import RunGroup
from hrmdoc.record.records import Fact, Record, Tick
from hrmdoc.record.run import Sighting
from hrmdoc.settings import Settings

TAIL, MOST_LINES = 256, 100
"""Points of a series and lines that are kept of a run that rests: what is usual of it shows by those."""
SETTLE_S = 1.0
"""Seconds that a warning must last before it is reported."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a watch found: the analysis, what changed since the update before, and what was done about it."""

    analysis: Analysis
    changes: list[Incident]
    moved: bool = False
    actions: list[TakenAction] = field(default_factory=list)


class Watch:
    """Follows one run.

    Attributes:
        resting: what is known of the run was let go, see `rest`.

    Args:
        path: a file or folder; a link such as `runs/latest` is followed when it moves, of a folder with
            several runs the newest.
        also: further files of the same run.
        interval: seconds between two polls at most.
        now: the wall clock, Unix seconds.
        steady: seconds of a clock that nobody sets; silence is measured by it.
        remember: whether incidents are kept beside the run (or in the user's state folder).
        act: whether remedies are applied as far as the policy in the settings allows it.
        measure: seconds between two samples of the machine; None: it is not measured.
        pid: the process of the run, where the caller knows it.
        group: the files of the run, where the caller looks for new ones.
        prepared: settings and rules that were loaded before, as for many runs.
        keep: where what was found is kept, instead of beside the run or in the user's state folder.
        config: settings that have the last word, as those of a config that lies elsewhere.
        heartbeats: of the run, where the caller reads them; else those that the settings name.
    """

    def __init__(
        self,
        path: str,
        *also: str,
        interval: float = 0.5,
        settings: Settings | None = None,
        facts: Mapping[str, Any] | None = None,
        metric_roles: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        remember: bool = True,
        act: bool = False,
        measure: float | None = None,
        pid: Callable[[], int | None] | None = None,
        group: RunGroup | None = None,
        prepared: Prepared | None = None,
        keep: Path | None = None,
        config: Sequence[Fact] = (),
        heartbeats: Heartbeats | None = None,
    ) -> None:
        self.path = path
        self._config, self._beats = config, heartbeats
        self._also = also
        self._interval = interval
        self._options: dict[str, Any] = {
            "settings": settings,
            "facts": facts,
            "metric_roles": metric_roles,
            "prepared": prepared,
        }
        self._group, self._keep = group, keep
        self._now, self._steady = now, steady
        self._remember = remember
        self._acts = act
        self._measure, self._pid = measure, pid
        self.resting = False
        self._stop = self._ended = self._moved = self._grew = False
        self._at_end: list[Record] = []
        self._noted: deque[Fact] = deque()
        self._admit()

    def _admit(self) -> None:
        """Starts over with the run that the path names now."""
        self._real = Path(os.path.realpath(self.path))  # where links lead in a circle, resolve() raises
        self.session, self._follower = self._reading()
        self.resting = False
        self._followed = followed = Path(self._follower.folder or self._real)
        self._heartbeats = self._beats or self._named_heartbeats(followed)
        beaten = self._heartbeats.beaten if self._heartbeats is not None else lambda: math.nan
        self.pulse = Pulse(self.session.run, lambda: self.files, self._now, self._steady, beaten)
        self.folder = (self._keep or state_folder(followed)) if self._remember else None
        kept = self.folder / "incidents.jsonl" if self.folder else None
        self.incidents = IncidentLog(kept, SETTLE_S, self.session.book)
        self._novelty = Novelty(self.session.run, self.session.match_lines)
        self._pace = Pace()
        self._monitoring = self._measuring(followed)
        record = self.folder / "actions.jsonl" if self.folder else None
        self._treatment = Treatment(self.session.settings.policy, followed, record) if self._acts else None

    def _reading(self) -> tuple[AnalysisSession, Follower]:
        """A session, and who reads the files into it from their beginning."""
        session = AnalysisSession(self.path, **self._options)
        paths = [str(self._real), *self._also]
        follower = Follower(
            paths, session.run, session.matcher.wanted, self._group, session.names_of_settings
        )
        follower.find()
        session.other_runs = follower.other_runs
        if self._group is None and follower.sources:
            home = follower.folder or str(self._real)
            session.locate(RunGroup(home, tuple(follower.sources), self._now()))
        return session, follower

    def _measuring(self, followed: Path) -> Monitoring | None:
        """What is measured is kept for `analyze`, also by `hrmdoc run`, which keeps no incidents."""
        if self._measure is None:
            return None
        folder = state_folder(followed) if self._remember or self._pid is not None else None
        run = self.session.run
        return Monitoring(run, followed, lambda: self.files, folder, self._measure, _complain, self._pid)

    def _named_heartbeats(self, followed: Path) -> Heartbeats | None:
        """Those that the settings name."""
        where = self.session.settings.heartbeat
        if where is None:
            return None
        name = followed.name if followed.is_dir() else followed.stem
        return Heartbeats(target(where, name), _complain, self._steady).start()

    def unbeaten(self) -> float:
        """Seconds since the heartbeat that the settings name was renewed; infinite where unknown."""
        beaten = math.nan if self._heartbeats is None else self._heartbeats.beaten()
        return math.inf if math.isnan(beaten) else self._steady() - beaten

    def stop(self, *, ended: bool = False, known: Iterable[Record] = ()) -> None:
        """Ends the watch after the examination in progress (signal handlers call this).

        Args:
            ended: the run itself has ended: silence before that is none any more.
            known: what is known of its end.
        """
        self._at_end = [*self._at_end, *known]
        self._ended = self._ended or ended
        self._stop = True

    def updates(self, *, once: bool = False) -> Iterable[Update]:
        """One `Update` each time something changed or the clock asks for it; the last one is of the closed
        run."""
        waker = Waker()
        try:
            while not self._stop:
                self.poll()
                if once or self.urgency():
                    yield self.examine()
                if once or self.over:
                    break
                waker.listen(self._follower.folders, grew=self._grew)
                waker.wait(self._interval, lambda: self._stop)
        finally:
            waker.close()
        yield self.finish()

    def poll(self, until: Callable[[], bool] = lambda: False, *, patient: bool = False) -> None:
        """Takes in what was written since the last call; waits for nothing.

        Args:
            until: asked now and then; what was not read once it is true is left to the next call.
            patient: lines that say nothing new are held back, at most until the next examination.
        """
        self._moved = self._has_moved() or self._moved
        self._take_in(until, patient=patient)

    @property
    def behind(self) -> bool:
        """Whether the last poll left something to be read."""
        return self._follower.behind

    def note(self, facts: Iterable[Fact]) -> None:
        """Adds what its caller knows of the run, from any thread."""
        self._noted.extend(facts)

    def _take_in(self, until: Callable[[], bool] = lambda: False, *, patient: bool = False) -> None:
        before = self._follower.held
        self._grew = self._follower.poll(until, patient=patient)
        self._note_all(held=self._follower.held > before)

    def _note_all(self, *, held: bool = False) -> None:
        """Takes in what others than the files say. `held`: lines came that will be read later."""
        while self._noted:
            self.session.run.add(self._noted.popleft())
        run = self.session.run
        run.extend(fact for fact in self._config if run.fact(fact.key, fact.scope) != fact)
        if self._monitoring is not None:
            self._monitoring.take()
        self.pulse.feel(held=held)

    def urgency(self) -> Urgency:
        """How much the run is in need of an examination."""
        run = self.session.run
        if self._moved or self.incidents.due(self._now()):
            return Urgency.NEW
        grown = run.version != self._pace.version
        new = grown and self._novelty.found()
        return self._pace.urgency(self._steady(), run.version, self._points if grown else 0, new=new)

    @property
    def restless(self) -> bool:
        """Whether something was new about the run when its urgency was asked for, which was not examined
        yet."""
        return self._pace.new

    def examine(self, *, treat: bool = True) -> Update:
        """Examines the run as it was read so far. `treat`: and does what the policy allows; else it is for
        the caller to `treat`."""
        self._follower.release()
        self._note_all()
        started, began = self._steady(), time.process_time()
        update = self._examine(moved=self._moved, treat=treat)
        self._moved = False
        cost = time.process_time() - began
        changed = bool(update.changes or self.incidents.waits)
        self._pace.examined(started, cost, self.session.run.version, self._points, changed=changed)
        self._novelty.mark()
        return update

    @property
    def over(self) -> bool:
        """Whether the run said that it has ended."""
        return self.session.run.end is not None

    @property
    def ending(self) -> bool:
        """Whether the watch ends: the run is over, or somebody asked for it."""
        return self._stop or self.over

    @property
    def gone(self) -> bool:
        """Whether none of its files is there any more."""
        return self._follower.gone

    def finish(self) -> Update:
        """Examines the run as one that has ended, and follows it no more."""
        self._follower.find()
        self._take_in()
        if self._monitoring is not None:
            self._monitoring.last()
        self._follower.close()
        self.session.run.extend(self._at_end)
        update = self._examine(closed=True)
        self.close()
        return update

    def close(self) -> None:
        """Follows the run no more, and leaves what is kept of it to others."""
        if self._monitoring is not None:
            self._monitoring.close()
        if self._heartbeats is not None:
            self._heartbeats.close()
        if self._treatment is not None:
            self._treatment.close()
        self.incidents.close()

    @property
    def _points(self) -> int:
        """Points of the longest series, those that were let go counted."""
        return max((series.came for series in self.session.run.series.values()), default=0)

    def rest(self, points: int) -> None:
        """Lets go what is known of a run that has more than so many points, all series together: its last
        ones alone are kept, and it is read again from its files whenever it is examined. So a verdict is that
        of `analyze` all the same; a run whose log was rotated, which its files hold no more, is kept."""
        run = self.session.run
        if self.resting or (run.points > points and not self._follower.rotated):
            self.resting = True
            kept = max(map(len, run.series.values()), default=0)
            if kept > 4 * TAIL or len(run.lines) > 4 * MOST_LINES:
                self.session.rest(TAIL, MOST_LINES)

    def _awake(self, *, closed: bool) -> AnalysisSession:
        """A session that knows the whole run."""
        if not self.resting:
            return self.session
        session, follower = self._reading()
        follower.poll()
        if closed:
            follower.close()
        run, known = session.run, self.session.run
        run.extend(fact for place, fact in known.facts.items() if place not in run.facts)
        run.measured.update(known.measured)
        return session

    def regroup(self, group: RunGroup) -> None:
        """The files of the run, as the caller found them anew."""
        self._group = self._follower.group = group
        self._follower.find()

    @property
    def following(self) -> str:
        """What is followed: the run of a folder with several, else what the path names."""
        return self._follower.folder or str(self._real)

    @property
    def files(self) -> list[str]:
        """What is read of it."""
        return [source.path for source in self._follower.sources]

    def _has_moved(self) -> bool:
        """Whether the link names another run now, or another one began in the folder; then that one is
        watched."""
        if self._group is not None:
            return False
        try:
            real = os.path.realpath(self.path, strict=True)
        except OSError:
            return False
        if real == str(self._real) and not self._follower.outrun:
            return False
        self.close()
        self._admit()
        return True

    def _examine(self, *, closed: bool = False, moved: bool = False, treat: bool = True) -> Update:
        now, session = self._now(), self._awake(closed=closed)
        if self._treatment is not None:  # who acts has to know what room there is for a checkpoint
            session.run.extend(free_space(session.run, self._followed))
        session.run.clock = Tick() if self._ended else self.pulse.tick()
        if closed and not self._ended and self.pulse.long_gone:
            session.run.sighting = Sighting(
                now, self.pulse.written
            )  # nobody watched: its files tell the rest
        analysis = session.diagnose(closed=closed, prescriptions=closed)
        changes = self.incidents.update(analysis, now, closed=closed)
        if self.folder is not None and (changes or closed):
            from hrmdoc.reports.as_json import dumps

            # What a full disk refuses is written at a later examination.
            replace_file(self.folder / "diagnosis.json", dumps(analysis))
        actions = self._treated(analysis, now, closed=closed) if treat else []
        return Update(analysis, changes, moved, actions)

    def treats(self, analysis: Analysis) -> bool:
        """Whether there may be something to do about what was found, or to verify."""
        return self._treatment is not None and self._treatment.has_work(analysis)

    def treat(self, analysis: Analysis) -> list[TakenAction]:
        """Does what the policy allows, and waits for the run to answer; nobody else may use this watch
        meanwhile."""
        return self._treated(analysis, self._now(), closed=False)

    def _treated(self, analysis: Analysis, now: float, *, closed: bool) -> list[TakenAction]:
        """What is done about it. A watch may end before its run does, and only the config of a run that has
        ended is patched."""
        if self._treatment is None or (closed and analysis.state not in ("finished", "crashed")):
            return []
        return self._treatment.treat(analysis, now, closed=closed)


def _complain(words: str) -> None:
    print(f"hrmdoc: {words}", file=sys.stderr)  # noqa: T201


Observer = Callable[[Watch, Update], None]
"""Receives every update of a watch, to report it elsewhere. It must not wait."""


def watch(path: str | Path, **options: Any) -> Iterable[Update]:
    """Follows a run; yields an `Update` each time something changed, the last one when the run has ended.
    Options are those of `Watch`."""
    return Watch(str(path), **options).updates()
