"""What a review of many runs is made of: the summary of every run, and a chapter for each of the worst.

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
"""Chapters of a review; what is known of the other runs stands in their rows."""


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
            done = [one for one in self._with_chapters(groups, extra) if readable(one.summary)]
            runs = self._ranked((one.summary, groups[one.number]) for one in done)
            return Reviewed(runs, _chapters(done, runs[:MOST]))
        found, _ = summaries(
            groups, self.request, self.store, self.progress, name=self.engine, jobs=self.jobs
        )
        lies = {run.path: group for run, group in zip(found, groups, strict=True) if readable(run)}
        runs = self._ranked((run, lies[run.path]) for run in found if run.path in lies)
        worst = runs[:MOST] if extra else ()
        return Reviewed(runs, _chapters(self._with_chapters([lies[run.path] for run in worst], extra), worst))

    @staticmethod
    def _ranked(found: Iterable[tuple[Summary, RunGroup]]) -> tuple[Summary, ...]:
        return tuple(ranked(as_watched(run, (one.path for one in group.sources)) for run, group in found))

    def _with_chapters(self, groups: Sequence[RunGroup], extra: Extra) -> list[Done]:
        if not groups:
            return []
        advance = self.progress(len(groups))
        found = []
        for done in examined(groups, replace(self.request, extra=extra), name=self.engine, jobs=self.jobs):
            advance(done.summary.path)
            found.append(done)
        return found


def _chapters(found: Iterable[Done], of: Sequence[Summary]) -> tuple[Done, ...]:
    """The chapters of these runs, in their order."""
    written = {done.summary.path: done for done in found if done.extra}
    return tuple(written[run.path] for run in of if run.path in written)
