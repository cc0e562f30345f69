"""What a review of many runs is made of: the summary of every run, and a chapter for each of the worst, which
is written when the run is examined: to do that twice would take as long again.

A chapter takes some twenty kilobytes and most readers open a few: those of a thousand runs would be a page of
twenty megabytes, and keep as much in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hrmdoc.fleet.engines import Name
from hrmdoc.fleet.examine import examined, is_stream, summaries
from hrmdoc.fleet.ranking import ranked
from hrmdoc.fleet.store import Store
from hrmdoc.fleet.summary import Summary
from hrmdoc.fleet.watched import as_watched
from hrmdoc.fleet.work import Done, Extra, Request
from hrmdoc.readers import RunGroup

MOST = 40
"""Chapters of a review of more runs than these, of sick ones; what is known of the others stands in their
rows."""

FEWEST_KEPT = 100
"""Chapters that are held, from which on those of less sick runs are dropped."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The runs of a review, the worst first, and those that have a chapter, in the same order."""

    runs: tuple[Summary, ...]
    chapters: tuple[Done, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """Examines the runs of a review.

    Args:
        engine, jobs: where, and how many at once.
        progress: takes how many there are to examine, and gives what is called as each is done.
    """

    request: Request
    store: Store
    progress: Callable[[int], Callable[[str], None]]
    engine: Name = "local"
    jobs: int | None = None

    def reviewed(
        self, groups: Sequence[RunGroup], extra: Extra, readable: Callable[[Summary], bool]
    ) -> Reviewed:
        """The runs that are `readable`; chapters as `extra` says, of all where they are few."""
        if extra and (len(groups) <= MOST or any(map(is_stream, groups))):
            return self._of_few(groups, extra, readable)
        written = _Written()
        found, _ = summaries(
            groups,
            self.request,
            self.store,
            self.progress,
            name=self.engine,
            jobs=self.jobs,
            extra=extra,
            keep=written.keep,
        )
        lies = {run.path: group for run, group in zip(found, groups, strict=True) if readable(run)}
        runs = self._ranked((run, lies[run.path]) for run in found if run.path in lies)
        worst = [run for run in runs[:MOST] if run.sick] if extra else []
        others = [lies[run.path] for run in worst if run.path not in written.by_path]
        later = self._with_chapters(others, extra, behind=len(groups))
        return Reviewed(runs, _chapters([*written.by_path.values(), *later], worst))

    def _of_few(
        self, groups: Sequence[RunGroup], extra: Extra, readable: Callable[[Summary], bool]
    ) -> Reviewed:
        """All have a chapter."""
        done = [one for one in self._with_chapters(groups, extra) if readable(one.summary)]
        runs = self._ranked((one.summary, groups[one.number]) for one in done)
        return Reviewed(runs, _chapters(done, runs[:MOST]))

    @staticmethod
    def _ranked(found: Iterable[tuple[Summary, RunGroup]]) -> tuple[Summary, ...]:
        return tuple(ranked(as_watched(run, (one.path for one in group.sources)) for run, group in found))

    def _with_chapters(self, groups: Sequence[RunGroup], extra: Extra, *, behind: int = 0) -> list[Done]:
        """These runs examined; their chapters are numbered behind so many others."""
        if not groups:
            return []
        advance = self.progress(len(groups))
        found = []
        request = replace(self.request, extra=extra)
        for done in examined(groups, request, name=self.engine, jobs=self.jobs, behind=behind):
            advance(done.summary.path)
            found.append(done)
        return found


class _Written:
    """The chapters of the worst runs that were examined so far."""

    def __init__(self) -> None:
        self.by_path: dict[str, Done] = {}

    def keep(self, done: Done) -> None:
        """Takes one in; those of runs that cannot be among the worst are dropped now and then."""
        if done.extra:
            self.by_path[done.summary.path] = done
        if len(self.by_path) > max(FEWEST_KEPT, 2 * MOST):
            worst = ranked(one.summary for one in self.by_path.values())[:MOST]
            self.by_path = {run.path: self.by_path[run.path] for run in worst}


def _chapters(found: Iterable[Done], of: Sequence[Summary]) -> tuple[Done, ...]:
    """The chapters of these runs, in their order."""
    written = {done.summary.path: done for done in found if done.extra}
    return tuple(written[run.path] for run in of if run.path in written)
