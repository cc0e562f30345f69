"""A run: the one place where records come together.

`Run.add` sorts them into series, lines, facts and events. Nothing here knows what is healthy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field

from hrmdoc.errors import UsageError
from hrmdoc.record.events import Events
from hrmdoc.record.positions import Positions
from hrmdoc.record.records import (
    DATED,
    Damage,
    Event,
    Fact,
    FloatArray,
    IntArray,
    Line,
    Points,
    Record,
    Tick,
)
from hrmdoc.record.series import RoleGuess, Series, SeriesKey, best_first, rank_number

if TYPE_CHECKING:
    import pandas as pd

    from hrmdoc.record.peer import Peer


MOST_CELLS = 20_000_000
"""Of one table; each takes 40 bytes while it is written."""
_BEGINNINGS = ("launch", "start")
_FEWEST_OF_A_RANK = 3
"""Points by which a rank tells its own progress."""


def no_roles(metric: str) -> RoleGuess:
    """The role map that knows nothing."""
    del metric
    return RoleGuess(None)


class Sighting(NamedTuple):
    """When the files of a run were read, and when the last of them had been written; Unix seconds by this
    machine's clock."""

    at: float
    written: float


class Run(Struct, eq=False):
    """One training job's record. Add records in any order; read series by role, facts by key.

    Attributes:
        path: what the user named.
        role_of: metric name -> role; see `hrmdoc.roles`.
        measured: what the watcher itself measured of the machine. It is no word of the run, and no sign of
            its life: rules that ask for a role that the run does not log see it, and nobody else does.
        sighting: when its files were read and last written, of a run that was read as a whole from disk.
        peers: runs of the same program that lie beside it, as far as somebody looked.
        version: grows with every record added; shows a caller that something changed.
        stated: grows with every fact that says something new.
    """

    path: str = ""
    role_of: Callable[[str], RoleGuess] = no_roles
    series: dict[SeriesKey, Series] = field(default_factory=dict)
    measured: dict[SeriesKey, Series] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    facts: dict[tuple[str, str], Fact] = field(default_factory=dict)
    events: Events = field(default_factory=Events)
    damages: list[Damage] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    clock: Tick | None = None
    sighting: Sighting | None = None
    peers: tuple[Peer, ...] = ()
    line_count: int = 0
    version: int = 0
    stated: int = 0
    _beside: Positions | None = None
    _best: dict[str, Series | None] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict)
    _begun_of: int = -1
    _best_of: tuple[int, int] = (-1, -1)

    def __repr__(self) -> str:
        """One line: where it lies and how much of it was read."""
        return (
            f"<Run {self.path!r}: {len(self.series)} series, {self.points} points, {self.line_count} lines>"
        )

    def add(self, record: Record) -> None:
        """Takes one record in."""
        self.version += 1
        match record:
            case Points():
                self._add_points(record)
            case Line():
                self.lines.append(record)
            case Fact():
                place = record.scope, record.key
                self.stated += self.facts.get(place) != record
                self.facts[place] = record
            case Event():
                self.events.append(record)
            case Damage():
                self.damages.append(record)
            case Tick():
                self.clock = record

    def extend(self, records: Iterable[Record]) -> None:
        """Takes several records in."""
        for record in records:
            self.add(record)

    def _add_points(self, points: Points) -> None:
        key = SeriesKey(points.metric, points.rank, points.source or points.file)
        series = self.series.get(key)
        if series is None:
            series = self.series[key] = Series(
                key, self.role_of(points.metric), points.axis, points.precision
            )
        self._beside = series.extend(points, self._beside)

    def forget_old(self, points: int, lines: int) -> int:
        """Lets all points of each series go but the last ones, and all lines but the last ones; the number of
        lines that went."""
        shared: dict[tuple[int, int], Positions] = {}
        for series in self.series.values():
            if len(series) > points:
                if series.stands not in shared:
                    shared[series.stands] = series.last_positions(points)
                series.keep_last(points, shared[series.stands])
        gone = max(0, len(self.lines) - lines)
        del self.lines[:gone]
        self._best_of = (-1, -1)
        return gone

    def measure(self, points: Points) -> None:
        """Takes in what the watcher measured; the metric is named by its role."""
        self.version += 1
        key = SeriesKey(points.metric, None, points.file)
        series = self.measured.get(key)
        if series is None:
            role = RoleGuess(points.metric)
            series = self.measured[key] = Series(key, role, points.axis, points.precision)
        series.extend(points)

    def is_measured(self, role: str) -> bool:
        """Whether the watcher, and not the run itself, says what is known of a role."""
        best = self.best(role)
        return best is not None and self.measured.get(best.key) is best

    def forget(self, source: str, file: str = "") -> None:
        """Drops the series of `source`, and what `file` alone gave, before a whole-file format is read
        again."""
        self.version += 1
        for key in [
            key for key, series in self.series.items() if key.source == source or series.files == [file]
        ]:
            del self.series[key]
        if file:
            self.events = Events(event for event in self.events if event.file != file)
            self.damages[:] = [damage for damage in self.damages if damage.file != file]

    def withdraw(self, untrue: Container[tuple[str, int | None, str]]) -> None:
        """Drops damages, by file, line and words, that are none any more."""
        self.version += 1
        self.damages[:] = [one for one in self.damages if (one.file, one.line, one.what) not in untrue]

    def fact(self, key: str, scope: str = "run") -> Fact | None:
        """The fact of that scope and key, or None when unknown."""
        return self.facts.get((scope, key))

    def with_role(self, role: str, rank: int | None = None) -> list[Series]:
        """All series of `role`, best first: known before guessed, those that cover all of it first, then
        precise, then long.

        Of guessed ones that are level, one that is named as the whole of them comes first. Only series of the
        lowest rank that has the role are returned, unless `rank` asks for one.
        """
        found = self._of_role(role)
        if found:
            wanted = min(rank_number(series) for series in found) if rank is None else rank
            found = [series for series in found if rank_number(series) == wanted]
        return best_first(found)

    def of_ranks(self, role: str) -> dict[int, Series]:
        """The best series of `role` on each rank that has one."""
        found: dict[int, list[Series]] = {rank: [] for rank in self.ranks}
        for series in self._of_role(role):
            if (rank := rank_number(series)) in found:
                found[rank].append(series)
        return {rank: best_first(own)[0] for rank, own in found.items() if own}

    def _of_role(self, role: str) -> list[Series]:
        """All that have a point; what was measured of the machine where the run logs none."""
        found = [series for series in self.series.values() if series.role.role == role and len(series)]
        return found or [one for one in self.measured.values() if one.role.role == role and len(one)]

    def best(self, role: str) -> Series | None:
        """The best source of `role`, or None. Rules ask again and again, so the answer is kept until a record
        is added."""
        stand = (self.version, len(self.series) + len(self.measured))
        if stand != self._best_of:
            self._best, self._best_of = {}, stand
        if role not in self._best:
            self._best[role] = next(iter(self.with_role(role)), None)
        return self._best[role]

    @property
    def progress(self) -> Series | None:
        """The series that shows best how far training has come, or None. It has a point at least."""
        found = (
            self.best(role)
            for role in ("train.loss", "rl.reward", "lr", "grad_norm", "step_time", "throughput")
        )
        return next((series for series in found if series is not None and len(series)), None)

    def outlived(self, record: Line | Event) -> bool:
        """Training of the same file went on after `record`: later points stand behind it, or the steps went
        well past it, or the program was launched again.

        A log that prints every hundredth step places what it reports up to a hundred steps too early: by so
        many the steps of another file are ahead of it without having gone on. A rank that logs its own
        progress is outlived by itself alone: the others may train on for a while without it.
        """
        if self.launched_behind(record):
            return True
        series = self._progress_of(record.rank)
        if series is None:
            return False
        file, last = series.place(-1)
        if file == record.file and last is not None and record.line is not None:
            behind = [series.place(index)[1] for index in range(max(0, len(series) - 3), len(series))]
            return len(behind) == 3 and all(line is not None and line > record.line for line in behind)
        return record.step is not None and int(series.steps[-1]) > record.step + 2 + self._stride(record.file)

    def _progress_of(self, rank: int | None) -> Series | None:
        """The progress of a rank where it logged as often as others did until its last point; else that of
        the run."""
        lead = self.progress
        if rank is None or lead is None or lead.key.rank == rank or not lead.role.role:
            return lead
        own = next(iter(self.with_role(lead.role.role, rank)), None)
        if own is None:
            return lead
        until = int(np.count_nonzero(lead.steps <= own.steps[-1]))
        return own if len(own) >= max(_FEWEST_OF_A_RANK, until / 2) else lead

    def launched_behind(self, record: Line | Event) -> bool:
        """Whether the program was launched again, or began to train, behind `record` in the same file: what
        came before is of an attempt that is over."""
        if self._begun_of != len(self.events):
            self._begun = {}
            for event in self.events.of(*_BEGINNINGS):
                self._begun[event.file] = max(event.line or 0, self._begun.get(event.file, 0))
            self._begun_of = len(self.events)
        return record.line is not None and self._begun.get(record.file, 0) > record.line

    def _stride(self, file: str) -> int:
        """Steps between the points that `file` gives last, of the densest metric in it; 0 where it gives
        none."""
        ends = [series.steps[-10:] for series in self.series.values() if series.files[-1:] == [file]]
        gaps = (int(np.diff(steps).max()) if len(steps) > 1 else abs(int(steps[0])) for steps in ends)
        return min(gaps, default=0)

    @property
    def end(self) -> Event | None:
        """The last event that tells of an end of the run; None where it told of none, or began again."""
        last = next(reversed([*self.events.of("end")]), None)
        return None if last is None or self.launched_behind(last) else last

    @property
    def last_time(self) -> float:
        """Time of the latest record that has one, by the clock of its progress: Unix time, or that of a log
        without dates; NaN where none has."""
        times = [float(series.times[-1]) for series in self.series.values() if len(series)]
        times += [line.time for line in self.lines[-1:]] + [event.time for event in self.events[-1:]]
        series = self.progress
        by = math.nan if series is None else float(series.times[-1])
        known = [time for time in times if math.isfinite(time)]
        if math.isfinite(by):
            known = [time for time in known if (time < DATED) == (by < DATED)]
        return max(known, default=math.nan)

    @property
    def metrics(self) -> set[str]:
        """The names of all metrics."""
        return {key.metric for key in self.series}

    @property
    def points(self) -> int:
        """How many points were read, all sources counted."""
        return sum(len(series) for series in self.series.values())

    @property
    def ranks(self) -> list[int]:
        """Every rank that wrote something, in order."""
        seen = {key.rank for key in self.series} | {line.rank for line in self.lines} | self.events.ranks
        return sorted(rank for rank in seen if rank is not None)

    def table(self) -> tuple[IntArray, dict[str, FloatArray]]:
        """Every step, and by metric of the best source its values there, NaN where it has none; a step
        written twice keeps its last record.

        Raises:
            UsageError: it would have more than `MOST_CELLS` cells.
        """
        chosen: dict[str, Series] = {}
        for series in self.series.values():
            other = chosen.get(series.key.metric)
            if other is None or (series.precision, len(series)) > (other.precision, len(other)):
                chosen[series.key.metric] = series
        steps = np.unique(np.concatenate([np.empty(0, np.int64), *(s.steps for s in chosen.values())]))
        if len(steps) * len(chosen) > MOST_CELLS:
            raise UsageError(f"{len(steps):,} steps of {len(chosen):,} metrics are too many for one table")
        columns: dict[str, FloatArray] = {}
        for metric, series in chosen.items():
            columns[metric] = np.full(len(steps), np.nan)
            columns[metric][np.searchsorted(steps, series.steps)] = series.values
        return steps, columns

    def frame(self) -> pd.DataFrame:
        """`table` as a frame of pandas, with `step` as its index.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("frames need pandas", hint="pip install 'hrmdoc[frames]'") from error
        steps, columns = self.table()
        return pd.DataFrame(columns, index=pd.Index(steps, name="step"))
