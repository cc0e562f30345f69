"""A fleet of runs at a glance: each examined once, the worst first, the alike together, and what changed."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hrmdoc.errors import InputError, did_you_mean
from hrmdoc.fleet.engines import Limits, Name
from hrmdoc.fleet.examine import summaries
from hrmdoc.fleet.ranking import ranked
from hrmdoc.fleet.separation import Separation, separations
from hrmdoc.fleet.store import Seen, Store
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.unread import emptied, unread
from hrmdoc.fleet.work import Request
from hrmdoc.readers import RunGroup, runs_below
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.record.records import Damage
from hrmdoc.reports.verdict import SEVEREST

MOST_FILES = 20_000_000
KEYS = ("cause", "verdict", "host", "user", "framework", "kind", "state", "failure_mode")
"""What runs can be grouped by beside a setting."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different from the last triage at the same paths; `since` is when that was, Unix seconds."""

    since: float
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    sick: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that share something."""

    name: str
    runs: tuple[Summary, ...]

    @property
    def sick(self) -> int:
        """How many of them are."""
        return sum(run.sick for run in self.runs)

    @property
    def lost_steps(self) -> int:
        """Steps that they trained and lost."""
        return sum(run.account.lost_steps for run in self.runs)

    @property
    def lost_hours(self) -> float | None:
        """GPU hours that they lost, as far as known; None where it is known of none."""
        known = [hours for run in self.runs if (hours := run.lost_hours) is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a triage found.

    Attributes:
        runs: the worst first.
        failure_modes: sick runs that fail in the same way, the most severe and largest first.
        known: how many were known from an earlier triage.
        examined: how many runs there are, whether they are shown or not.
    """

    runs: tuple[Summary, ...]
    failure_modes: tuple[Group, ...]
    separations: tuple[Separation, ...]
    changes: Changes | None
    known: int
    problems: tuple[Damage, ...] = ()
    examined: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs are shown: all of `verdicts` and `causes` where these are given, and what was written since
    a moment, Unix seconds."""

    verdicts: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    since: float = -math.inf

    def shows(self, run: Summary) -> bool:
        """Whether a run is one of these."""
        if self.verdicts and run.verdict not in self.verdicts:
            return False
        return not self.causes or (run.cause is not None and run.cause.cause in self.causes)


@dataclass(slots=True)
class Triage:
    """Examines the runs below paths.

    Args:
        store: what was found before, and where to keep what is found now.
        within: which runs may be examined.
    """

    paths: Sequence[str]
    request: Request
    store: Store
    engine: Name = "local"
    jobs: int | None = None
    limits: Limits = field(default_factory=Limits)
    within: Callable[[RunGroup], bool] = lambda _: True

    def run(self, asked: Asked, progress: Callable[[int], Callable[[str], None]]) -> Fleet:
        """Lists and examines the runs, those that changed since they were examined last.

        Args:
            progress: takes how many there are to examine, and gives what is called as each is done.

        Raises:
            InputError: a path does not exist, or nothing at all can be read.
        """
        problems: list[Damage] = []
        listed = runs_below(self.paths, problems, how=Listing(self.store, MOST_FILES))
        groups = [group for group in listed if group.changed >= asked.since and self.within(group)]
        if not groups:
            raise InputError("no run was written since then", file=self.paths[0])
        found, known = summaries(
            groups,
            self.request,
            self.store,
            progress,
            name=self.engine,
            jobs=self.jobs,
            limits=self.limits,
        )
        since, before = self._last()
        rows, passed = unread(problems, listed)
        runs = ranked([*found, *rows, *emptied(before, listed, rows)])
        changes = self._changes(runs, since, before, complete=math.isinf(asked.since))
        shown = tuple(run for run in runs if asked.shows(run))
        return Fleet(
            shown, tuple(alike(shown)), tuple(separations(runs)), changes, known, tuple(passed), len(runs)
        )

    def _last(self) -> tuple[float, dict[str, Seen]]:
        """When the triage before was at these paths, and what it saw; 0 and nothing at the first."""
        return self.store.last_triage(self._what)

    @property
    def _what(self) -> bytes:
        named = "\0".join((os.getcwd(), *self.paths))
        return hashlib.blake2b(named.encode(errors="replace"), digest_size=20).digest()

    def _changes(
        self, runs: Sequence[Summary], since: float, before: Mapping[str, Seen], *, complete: bool
    ) -> Changes | None:
        """What differs from the last triage at these paths; None at the first."""
        now = {run.path: Seen(run.verdict, run.failure_mode, run.headline) for run in runs}
        self.store.note_triage(self._what, now if complete else {**before, **now})
        return changes(since, before, runs, complete=complete) if since else None


def changes(since: float, before: Mapping[str, Seen], runs: Sequence[Summary], *, complete: bool) -> Changes:
    """What differs from the rows of an earlier triage; `complete`: this one would have shown all of them."""
    here = {run.path for run in runs}
    met = [(run, before[run.path]) for run in runs if run.path in before]
    turned = {name: tuple(run.path for run, was in met if _turn(run, was) == name) for name in _TURNS}
    new = tuple(run.path for run in runs if run.path not in before)
    return Changes(since, new, tuple(sorted(before.keys() - here)) if complete else (), **turned)


_TURNS = ("sick", "recovered", "otherwise", "unread")


def _turn(run: Summary, was: Seen) -> str:
    """What became of a run since it was examined."""
    if run.verdict == "no_data":
        return "unread" if was.verdict != "no_data" else ""
    if run.sick and was.failure_mode:
        return "otherwise" if run.failure_mode != was.failure_mode else ""
    if run.sick:
        return "sick"
    return "recovered" if was.failure_mode else ""


def alike(runs: Sequence[Summary]) -> list[Group]:
    """Sick runs that share a failure mode, the most severe and largest first."""
    found: dict[str, list[Summary]] = defaultdict(list)
    for run in runs:
        if run.sick:
            found[run.failure_mode].append(run)
    groups = [Group(name, tuple(members)) for name, members in found.items()]
    return sorted(groups, key=lambda one: (SEVEREST.index(one.runs[0].verdict), -len(one.runs), one.name))


def grouped(runs: Sequence[Summary], by: str) -> list[Group]:
    """Runs by one of `KEYS` or by a setting; the groups with most sick runs first.

    Raises:
        InputError: no run has such a setting.
    """
    found: dict[str, list[Summary]] = defaultdict(list)
    for run in runs:
        found[_group_value(run, by)].append(run)
    if list(found) == [""] and by not in KEYS:
        known = Counter(key for run in runs for key in run.settings)
        hint = did_you_mean(by, known) or f"one of {', '.join(KEYS)}, or a setting of the runs"
        raise InputError(f"no run has the setting {by!r}", hint=hint)
    groups = [Group(name or "not known", tuple(members)) for name, members in found.items()]
    return sorted(groups, key=lambda one: (-one.sick, -len(one.runs), one.name))


def _group_value(run: Summary, by: str) -> str:
    if by == "cause":
        return run.cause.title if run.cause is not None else "none" if not run.sick else ""
    if by in KEYS:
        return str(getattr(run, by))
    value = run.settings.get(by)
    return (
        ""
        if value is None and by not in run.settings
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
