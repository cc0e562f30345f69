"""Tells apart the runs that lie in one folder, such as `lightning_logs/version_*`, `runs/*`, or the runs of
`mlruns` and `wandb`.

A folder holds several runs when at least two of its children are named as loggers name runs and each holds
records of its own, or when they hold files of the same names and the folder itself none of these. What
belongs to one run stays together: ranks, restarts of torchrun, parts of one logger, event files beside one
Trainer state.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct, structs

from hrmdoc import readers
from hrmdoc.readers.sources import folders
from hrmdoc.readers.sources.rivals import are_rivals
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.sources.stems import gathered, stem
from hrmdoc.readers.support import names
from hrmdoc.record.records import Event, Points, Record
from hrmdoc.text import patterns

_VERSION = patterns.lazy(r"version_\d+")
_HEAD = 1 << 18
_NEAR = 0.25
"""A log gives the last step before a resume, which lies as far back as its last record."""
_LATE = 3
"""A run that is new writes its first record after one interval; one that goes on, after many."""


class RunGroup(Struct, frozen=True):
    """The sources of one run.

    Attributes:
        folder: the run's own folder, or for a Slurm array the name of its files; what a user names to examine
            this run.
        sources: in the order in which they are to be read.
        changed: when any of them was written last, Unix seconds.
        before: folders of the parts that it goes on with, the oldest first, each with the step at which the
            next begins.
    """

    folder: str
    sources: tuple[Source, ...]
    changed: float
    before: tuple[tuple[str, int], ...] = ()

    def resumes(self, reported: Iterable[Event] = ()) -> list[Event]:
        """Where its parts begin, but for what a log of the run has `reported` already."""
        if not self.before:
            return []  # and a log may report a thousand checkpoints
        known = [event.step for event in reported if event.kind == "resume" and event.step is not None]
        return [
            Event("resume", self.folder, step=step, detail=f"goes on where {older} ended")
            for older, step in self.before
            if not any(abs(step - one) <= _NEAR * step for one in known)
        ]


def runs_in(sources: Sequence[Source]) -> list[RunGroup]:
    """The runs that `sources` belong to, the one that changed last at the end; one group when nothing keeps
    them apart.

    Files outside of all run folders, such as a printed log beside `lightning_logs`, go to the last run if
    they are its late records, and settings always do. A last `version_N` that goes on where the one
    before ended is one run with it.
    """
    if len(sources) < 2:
        return [group_of(common(sources), sources)] if sources else []
    owner = folders.owned(sources)
    groups: dict[str, list[Source]] = defaultdict(list)
    loose: list[Source] = []
    for source in sources:
        folder = owner.get(source.path)
        (loose if folder is None else groups[folder]).append(source)
    if len(groups) < 2:
        return [group_of(common(sources), sources)]
    found = sorted(
        (group_of(folder, members) for folder, members in groups.items()),
        key=lambda g: (g.changed, names.natural(g.folder)),
    )
    found = continued(found)
    kept = {source.path for source in folders.parted(loose)[1]} | late_records(loose, found[-1].sources)
    kept |= {source.path for source in found[-1].sources}
    last = {source.path: source for source in found[-1].sources}
    members = [last.get(source.path, source) for source in sources if source.path in kept]
    return [*found[:-1], structs.replace(group_of(found[-1].folder, members), before=found[-1].before)]


def late_records(loose: Iterable[Source], newest: Sequence[Source]) -> set[str]:
    """Paths of the records beside the folders of runs that belong to the newest run: those that were written
    after it began and do not tell a course of their own, as the log of another job does."""
    begun = min(source.started for source in newest)
    late = gathered((source for source in folders.parted(loose)[0] if source.mtime >= begun), stem)
    return {source.path for beside in late.values() if not are_rivals((beside, newest)) for source in beside}


def runs_note(groups: Sequence[RunGroup]) -> str:
    """One line that names the run that is read and the others; empty when there is one run.

    Others may lie in folders, or in the database of the one that is read.
    """
    said = [_said([group.folder for group in groups], "lie here")] if len(groups) > 1 else []
    if groups and groups[-1].before:
        parts = ", ".join(folder for folder, _ in groups[-1].before)
        said.append(f"{groups[-1].folder} goes on where {parts} ended: read as one run")
    for source in groups[-1].sources if groups else ():
        inside = (
            getattr(readers.reader(source.reader), "runs", None)
            if source.reader and not source.part and readers.reader(source.reader).WHOLE
            else None
        )
        if inside is not None and len(names := inside(source.path)) > 1:
            said.append(_said([f"{source.path}#{name}" for name in names], f"are in {source.path}"))
    return "; ".join(said)


def _said(names: Sequence[str], where: str, most: int = 5) -> str:
    """What to type for runs of which the last is read."""
    more = f" and {len(names) - 1 - most} more" if len(names) - 1 > most else ""
    others = ", ".join(list(reversed(names[:-1]))[:most])
    return (
        f"{len(names)} runs {where}; this is the newest, {names[-1]}. To examine another, name it: "
        f"{others}{more}"
    )


def group_of(folder: str, sources: Iterable[Source]) -> RunGroup:
    """The sources of one run, in the order in which they are given."""
    members = tuple(sources)
    return RunGroup(folder, members, max(source.mtime for source in members))


def continued(found: Iterable[RunGroup]) -> list[RunGroup]:
    """The runs, each joined to the one that it goes on with: Lightning resumes into the next `version_N`."""
    joined: list[RunGroup] = []
    for newer in found:
        begin = _goes_on_at(joined[-1], newer) if joined else None
        if begin is None:
            joined.append(newer)
            continue
        older = joined.pop()
        first = older.before[0][0] if older.before else older.folder
        renamed = [
            structs.replace(one, logger=one.logger.replace(newer.folder, first, 1)) for one in newer.sources
        ]
        whole = group_of(newer.folder, (*older.sources, *renamed))
        joined.append(structs.replace(whole, before=(*older.before, (older.folder, begin))))
    return joined


def _goes_on_at(older: RunGroup, newer: RunGroup) -> int | None:
    """The step at which `newer` begins, if that is late, and there where `older` ends; else None."""
    names = [group.folder.rpartition("/") for group in (older, newer)]
    if names[0][0] != names[1][0] or not all(_VERSION.fullmatch(name) for *_, name in names):
        return None
    begin = _steps(newer, most=_HEAD)
    late = _LATE * (begin[1] - begin[0]) if len(begin) > 1 else 0
    if not late or begin[0] < late:
        return None
    end = _steps(older)
    return begin[0] if end and abs(begin[0] - end[-1]) <= late else None


def _steps(group: RunGroup, most: int = sys.maxsize) -> list[int]:
    """The steps that its tables and event files record within their first `most` bytes, in order, each
    once."""
    return sorted(
        frozenset().union(
            *(_steps_in(one, most) for one in group.sources if one.reader in ("csv", "tfevents"))
        )
    )


@lru_cache(maxsize=64)
def _steps_in(source: Source, most: int) -> frozenset[int]:
    """As above, of one file; a watch asks again and again, and a source shows by its size and time whether it
    changed."""
    found: set[int] = set()
    session, left = readers.open_source(source), most
    with suppress(OSError), source.file.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _HEAD))):
            found |= _steps_of(session.feed(block))
            left -= len(block)
    return frozenset(found | _steps_of(session.close()))


def _steps_of(records: Iterable[Record]) -> set[int]:
    return {step for record in records if isinstance(record, Points) for step in record.steps.tolist()}


def common(sources: Sequence[Source]) -> str:
    """The folder of the first source; a lone run is named by what the user gave."""
    return sources[0].path.replace("\\", "/").rpartition("/")[0] or sources[0].path
