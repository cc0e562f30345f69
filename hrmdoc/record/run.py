"""A run and its records: what readers yield, and the one place where they come together.

A reader yields records; `Run.add` sorts them into series, lines, facts and events. Nothing here knows what is
healthy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrmdoc.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Axis = Literal["step", "epoch", "sample", "index"]
Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one metric, in the order they were written. All arrays have shape [n].

    Attributes:
        metric: the name as the source spells it, such as `train/lm_loss`.
        steps: what the x axis counts is told by `axis`; `index` means that the source gives no step.
        values: as written; may hold NaN and infinities.
        times: Unix seconds, NaN where unknown.
        file: where they were read.
        lines: 1-based line (text) or byte offset (binary) of each point, or None.
        rank: the global rank that wrote them, None when the source does not say.
        precision: 0 rounded for printing, 1 as text, 2 float32, 3 float64. The most precise source of a
            metric wins.
        source: the logger they belong to; several files of one logger share it. Defaults to `file`.
    """

    metric: str
    steps: IntArray
    values: FloatArray
    times: FloatArray
    file: str
    lines: IntArray | None = None
    rank: int | None = None
    axis: Axis = "step"
    precision: int = 1
    source: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A log line worth keeping: it holds a literal that a signature asks for, or belongs to a traceback.

    `step` is the last training step seen in this file before the line; `time` is Unix seconds or NaN.
    """

    text: str
    file: str
    line: int
    time: float = math.nan
    rank: int | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something true of the whole run.

    `scope` tells whose word `key` is: `config` (the framework's own key, dotted), `env` (environment
    variable), `version` (package), or `run` (hrmdoc's canonical key, such as `run.total_steps`,
    `model.parameters`, `data.samples`).
    """

    key: str
    value: Value
    scope: Literal["config", "env", "version", "run"] = "run"
    file: str = ""
    line: int | None = None


EventKind = Literal["start", "resume", "checkpoint", "eval", "exception", "action", "end", "restart"]


@dataclass(frozen=True, slots=True)
class Event:
    """A moment in the life of the run. `detail` is free text or a small mapping, by `kind`."""

    kind: EventKind
    file: str = ""
    line: int | None = None
    step: int | None = None
    time: float = math.nan
    rank: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """How long a run has been silent, by the clock of who watches it: the stamps of a log may be of any zone.

    Attributes:
        quiet: seconds since the run made progress; NaN where nobody watched.
        usual: its usual seconds between two points, as the watcher saw them; NaN when not known.
        heartbeat: seconds since the heartbeat was renewed; NaN where there is none or nobody watched.
        closed: no later record will come.
    """

    quiet: float = math.nan
    usual: float = math.nan
    heartbeat: float = math.nan
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in the input that could not be read; what lies before and after it was kept.

    Attributes:
        left_out: how many records were left out there; 0 where that is not known.
        incomplete: evidence may be missing that decides: the end of an archive, rows beyond a limit.
    """

    file: str
    line: int | None
    what: str
    left_out: int = 0
    incomplete: bool = False


Record = Points | Line | Fact | Event | Tick | Damage


class RoleGuess(NamedTuple):
    """The role of a metric, and whether it was guessed by pattern rather than known."""

    role: str | None
    guessed: bool = False


class SeriesKey(NamedTuple):
    metric: str
    rank: int | None
    source: str


class Series:
    """All points of one metric from one source, in order of arrival; arrays grow at amortised constant
    cost."""

    __slots__ = (
        "_data",
        "_files",
        "_lines",
        "_size",
        "_steps",
        "_times",
        "axis",
        "files",
        "key",
        "precision",
        "role",
    )

    def __init__(self, key: SeriesKey, role: RoleGuess, axis: Axis, precision: int) -> None:
        self.key = key
        self.role = role
        self.axis: Axis = axis
        self.precision = precision
        self.files: list[str] = []
        self._size = 0
        self._steps: IntArray = np.empty(16, np.int64)
        self._data: FloatArray = np.empty(16, np.float64)
        self._times: FloatArray = np.empty(16, np.float64)
        self._lines: IntArray = np.empty(16, np.int64)
        self._files: IntArray = np.empty(16, np.int64)

    def __len__(self) -> int:
        return self._size

    def extend(self, points: Points) -> None:
        """Appends `points`; -1 marks an unknown line."""
        n, size = len(points.values), self._size
        if size + n > len(self._steps):
            capacity = max(2 * len(self._steps), size + n)
            for name in ("_steps", "_data", "_times", "_lines", "_files"):
                old = getattr(self, name)
                new = np.empty(capacity, old.dtype)
                new[:size] = old[:size]
                setattr(self, name, new)
        if not self.files or self.files[-1] != points.file:
            self.files.append(points.file)
        self._steps[size : size + n] = points.steps
        self._data[size : size + n] = points.values
        self._times[size : size + n] = points.times
        self._lines[size : size + n] = -1 if points.lines is None else points.lines
        self._files[size : size + n] = len(self.files) - 1
        self._size = size + n

    @property
    def steps(self) -> IntArray:
        """Steps, shape [n]."""
        return self._steps[: self._size]

    @property
    def values(self) -> FloatArray:
        """Values, shape [n]."""
        return self._data[: self._size]

    @property
    def times(self) -> FloatArray:
        """Unix seconds or NaN, shape [n]."""
        return self._times[: self._size]

    def place(self, index: int) -> tuple[str, int | None]:
        """File and line (or byte offset) of one point."""
        line = int(self._lines[: self._size][index])
        return self.files[int(self._files[: self._size][index])], None if line < 0 else line


_FAR_DENSER = 20
"""An exact series is worth more than a rounded one with up to so many times its points."""


_OF_THE_WHOLE = frozenset(
    {"total", "mean", "avg", "average", "sum", "overall", "all", "combined", "full", "joint"}
)
_WORDS = re.compile(r"[a-z]+")


def _names_the_whole(metric: str) -> bool:
    """Whether a name says that it sums up others: `mean_loss` beside `wall_loss` and `inlet_loss`."""
    return not _OF_THE_WHOLE.isdisjoint(_WORDS.findall(metric.lower()))


def _tells_less(series: Series, other: Series) -> bool:
    """Whether `other` tells a part of the run that `series` leaves out, or has far more points.

    A state file is only as new as its checkpoint, an event file only as new as its last flush: the printed
    log may be ahead.
    """
    if series.axis != other.axis:
        return 2 * len(series) < len(other)
    first, last = int(series.steps[0]), int(series.steps[-1])
    slack = 2 * max(1.0, (last - first) / max(1, len(series) - 1))
    ahead = int(other.steps[-1]) > last + slack or int(other.steps[0]) < first - slack
    return ahead or _FAR_DENSER * len(series) < len(other)


def no_roles(metric: str) -> RoleGuess:
    """The role map that knows nothing."""
    del metric
    return RoleGuess(None)


class Sighting(NamedTuple):
    """When the files of a run were read, and when the last of them had been written; Unix seconds by this
    machine's clock."""

    at: float
    written: float


@dataclass(slots=True)
class Run:
    """One training job's record. Add records in any order; read series by role, facts by key.

    Attributes:
        path: what the user named.
        role_of: metric name -> role; see `hrmdoc.roles`.
        sighting: when its files were read and last written, of a run that was read as a whole from disk.
        version: grows with every record added; tells a caller that something changed.
    """

    path: str = ""
    role_of: Callable[[str], RoleGuess] = no_roles
    series: dict[SeriesKey, Series] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    facts: dict[tuple[str, str], Fact] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    clock: Tick | None = None
    sighting: Sighting | None = None
    line_count: int = 0
    version: int = 0
    _best: dict[str, Series | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _best_of: tuple[int, int] = field(default=(-1, -1), init=False, repr=False, compare=False)

    def add(self, record: Record) -> None:
        """Takes one record in."""
        self.version += 1
        match record:
            case Points():
                self._add_points(record)
            case Line():
                self.lines.append(record)
            case Fact():
                self.facts[record.scope, record.key] = record
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
        series.extend(points)

    def forget(self, source: str, file: str = "") -> None:
        """Drops the series of `source`, and what `file` alone told, before a whole-file format is read
        again."""
        self.version += 1
        for key in [
            key for key, series in self.series.items() if key.source == source or series.files == [file]
        ]:
            del self.series[key]
        if file:
            self.events[:] = [event for event in self.events if event.file != file]
            self.damages[:] = [damage for damage in self.damages if damage.file != file]

    def fact(self, key: str, scope: str = "run") -> Fact | None:
        """The fact of that scope and key, or None when unknown."""
        return self.facts.get((scope, key))

    def with_role(self, role: str, rank: int | None = None) -> list[Series]:
        """All series of `role`, best first: known before guessed, those that tell all of it first, then
        precise, then long.

        Of guessed ones that are level, one that is named as the whole of them comes first. Only series of the
        lowest rank that has the role are returned, unless `rank` asks for one.
        """
        found = [series for series in self.series.values() if series.role.role == role and len(series)]
        if found:
            wanted = min(-1 if s.key.rank is None else s.key.rank for s in found) if rank is None else rank
            found = [s for s in found if (-1 if s.key.rank is None else s.key.rank) == wanted]
        short = {s.key: any(_tells_less(s, other) for other in found if other is not s) for s in found}
        part = {s.key: s.role.guessed and not _names_the_whole(s.key.metric) for s in found}
        return sorted(
            found,
            key=lambda s: (
                s.role.guessed,
                short[s.key],
                -s.precision,
                -len(s),
                part[s.key],
                s.key.metric,
                s.key.source,
            ),
        )

    def best(self, role: str) -> Series | None:
        """The best source of `role`, or None. Rules ask again and again, so the answer is kept until a record
        is added."""
        stand = (self.version, len(self.series))
        if stand != self._best_of:
            self._best, self._best_of = {}, stand
        if role not in self._best:
            self._best[role] = next(iter(self.with_role(role)), None)
        return self._best[role]

    @property
    def progress(self) -> Series | None:
        """The series that tells best how far training has come, or None. It has a point at least."""
        found = (
            self.best(role)
            for role in ("train.loss", "rl.reward", "lr", "grad_norm", "step_time", "throughput")
        )
        return next((series for series in found if series is not None and len(series)), None)

    def outlived(self, record: Line | Event) -> bool:
        """Training of the same file went on after `record`: later points stand behind it, or the steps went
        well past it."""
        series = self.progress
        if series is None:
            return False
        file, last = series.place(-1)
        if file == record.file and last is not None and record.line is not None:
            behind = [series.place(index)[1] for index in range(max(0, len(series) - 3), len(series))]
            return len(behind) == 3 and all(line is not None and line > record.line for line in behind)
        return record.step is not None and int(series.steps[-1]) > record.step + 2

    @property
    def last_time(self) -> float:
        """Unix time of the latest record that has one; NaN where none has."""
        times = [float(series.times[-1]) for series in self.series.values() if len(series)]
        times += [line.time for line in self.lines[-1:]] + [event.time for event in self.events[-1:]]
        return max((time for time in times if math.isfinite(time)), default=math.nan)

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
        seen = (
            {key.rank for key in self.series}
            | {line.rank for line in self.lines}
            | {e.rank for e in self.events}
        )
        return sorted(rank for rank in seen if rank is not None)

    def table(self) -> tuple[IntArray, dict[str, FloatArray]]:
        """Every step, and by metric of the best source its values there, NaN where it has none; a step
        written twice keeps its last record."""
        chosen: dict[str, Series] = {}
        for series in self.series.values():
            other = chosen.get(series.key.metric)
            if other is None or (series.precision, len(series)) > (other.precision, len(other)):
                chosen[series.key.metric] = series
        steps = np.unique(np.concatenate([np.empty(0, np.int64), *(s.steps for s in chosen.values())]))
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
