"""Tells apart the runs that lie in one folder, such as `lightning_logs/version_*`, `runs/*`, or the runs of
`mlruns` and `wandb`.

A folder holds several runs when at least two of its children are named as loggers name runs and each holds
records of its own, or when they hold files of the same names and the folder itself none of these. What
belongs to one run stays together: ranks, restarts of torchrun, parts of one logger, event files beside one
Trainer state.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct, structs

from hrmdoc import readers
from hrmdoc.readers.sources import names
from hrmdoc.readers.sources.source import Source
from hrmdoc.record.run import Event, Points, Record
from hrmdoc.text import patterns

_SETTINGS = frozenset({"configs", "run_json"})
_COLLECTIONS = frozenset(
    ["runs", "lightning_logs", "tb_logs", "multirun", "experiments", "ray_results", "sweeps", "wandb"]
)
_RUN_NAME = patterns.lazy(
    r"version_\d+|(?:offline-)?run-\d{8}_\d{6}-[\w-]+|(?:run|exp|trial|seed|train|predict|val)[_-]?\d+|train|[0-9a-f]{32}"
    r"|.*(?:19|20)\d\d-?[01]\d-?[0-3]\d.*|[0-2]\d-[0-5]\d-[0-5]\d|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+|[A-Z][A-Z0-9]{1,7}_\d+"
)
_VERSION = patterns.lazy(r"version_\d+")
_HEAD = 1 << 18
_NEAR = 0.25
"""A log tells the last step before a resume, which lies as far back as its last record."""
_LATE = 3
"""A run that is new writes its first record after one interval; one that goes on, after many."""
_RECORDS = frozenset({"text", "csv", "jsonl", "tfevents", "hf_state", "json_history", "wandb"})
_DIGITS = patterns.lazy(r"\d+")
_ARRAY_TASK = patterns.lazy(r"^(?P<job>.*slurm-\d+|.*?-\d{4,})_(?P<task>\d+)\.(?:out|err|log)$")
_PART = patterns.lazy(
    r"(?:global_?|local_?)?(?:rank|worker|node|host|proc)[_-]?\d+|attempt_\d+|(?:training|val|valid|validation|test|eval"
    r"|evaluation|dev)|(?:checkpoint|global_step|step|iter|epoch|ckpt)[_-]?\d+|loss_.*|metrics|params|tags|tensorboard|files|logs",
    re.IGNORECASE,
)
_PIECE = patterns.lazy(
    r"(?:\w*_)?(?:train|rank|local|worker|node|host|process|gpu|device|machine|client|shard|part|split|attempt|restart|replica|pod)"
    r"[_-]?[a-z]?\d*|(?:best|last|final|latest)(?:[_-]\w+)?|\d+|.*[-_.]?(?:logs?|events|checkpoints?)",
    re.IGNORECASE,
)
"""Folders that hold parts of one run as often as runs; they are told apart by other marks than the names of
their files."""


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

    def resumes(self, told: Iterable[Event] = ()) -> list[Event]:
        """Where its parts begin, but for what a log of the run has `told` already."""
        known = [event.step for event in told if event.kind == "resume" and event.step is not None]
        return [
            Event("resume", self.folder, step=step, detail=f"goes on where {older} ended")
            for older, step in self.before
            if not any(abs(step - one) <= _NEAR * step for one in known)
        ]


def runs_in(sources: Sequence[Source]) -> list[RunGroup]:
    """The runs that `sources` belong to, the one that changed last at the end; one group when nothing tells
    them apart.

    Files outside of all run folders, such as a printed log beside `lightning_logs`, go to the last run if
    they were written after it began, and settings always do. A last `version_N` that goes on where the one
    before ended is one run with it.
    """
    if len(sources) < 2:
        return [_group(_common(sources), sources)] if sources else []
    owner = _owners(sources)
    groups: dict[str, list[Source]] = defaultdict(list)
    loose: list[Source] = []
    for source in sources:
        folder = owner.get(source.path)
        (loose if folder is None else groups[folder]).append(source)
    if len(groups) < 2:
        return [_group(_common(sources), sources)]
    found = sorted(
        (_group(folder, members) for folder, members in groups.items()),
        key=lambda g: (g.changed, names.natural(g.folder)),
    )
    found = _continued(found)
    begun = min(source.started for source in found[-1].sources)
    kept = {source.path for source in loose if source.reader in _SETTINGS or source.mtime >= begun}
    kept |= {source.path for source in found[-1].sources}
    last = {source.path: source for source in found[-1].sources}
    members = [last.get(source.path, source) for source in sources if source.path in kept]
    return [*found[:-1], structs.replace(_group(found[-1].folder, members), before=found[-1].before)]


def told(groups: Sequence[RunGroup]) -> str:
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
            if source.reader and not source.part
            else None
        )
        if inside is not None and len(names := inside(source.path)) > 1:
            said.append(_said([f"{source.path}#{name}" for name in names], f"are in {source.path}"))
    return "; ".join(said)


def _said(names: Sequence[str], where: str, most: int = 5) -> str:
    """What to type for runs of which the last is read."""
    more = f" and {len(names) - 1 - most} more" if len(names) - 1 > most else ""
    others = ", ".join(list(reversed(names[:-1]))[:most])
    return f"{len(names)} runs {where}; this is the newest, {names[-1]}. To examine another, name it: {others}{more}"


def _group(folder: str, sources: Iterable[Source]) -> RunGroup:
    members = tuple(sources)
    return RunGroup(folder, members, max(source.mtime for source in members))


def _continued(found: list[RunGroup]) -> list[RunGroup]:
    """The runs with the last one joined to those that it goes on with: Lightning resumes into the next
    `version_N`."""
    while len(found) > 1 and (begin := _goes_on_at(*found[-2:])) is not None:
        older, newer = found[-2:]
        began = newer.before[0][0] if newer.before else newer.folder
        renamed = [
            structs.replace(one, logger=one.logger.replace(began, older.folder, 1)) for one in newer.sources
        ]
        whole = _group(newer.folder, (*older.sources, *renamed))
        found = [*found[:-2], structs.replace(whole, before=((older.folder, begin), *newer.before))]
    return found


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
    """As above, of one file; a watch asks again and again, and a source tells by its size and time whether it
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


def _common(sources: Sequence[Source]) -> str:
    """The folder of the first source; a lone run is named by what the user gave."""
    return sources[0].path.replace("\\", "/").rpartition("/")[0] or sources[0].path


def _owners(sources: Sequence[Source]) -> dict[str, str]:
    """File -> the folder of its run, for files in a collection of runs. The innermost collection counts."""
    children: dict[str, dict[str, list[Source]]] = defaultdict(lambda: defaultdict(list))
    direct: dict[str, list[Source]] = defaultdict(list)
    states = {source.logger.rpartition("/")[0] for source in sources if source.reader == "hf_state"}
    owner: dict[str, str] = {}
    tasks: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        parts = source.path.replace("\\", "/").split("/")
        for depth in range(1, len(parts)):
            children["/".join(parts[: depth - 1])]["/".join(parts[:depth])].append(source)
        direct["/".join(parts[:-1])].append(source)
        if array := _ARRAY_TASK.match("/".join(parts)):
            tasks[f"{array['job']}_{array['task']}"].append(source)
    for parent in sorted(children, key=lambda name: name.count("/"), reverse=True):
        runs = {child: inside for child, inside in children[parent].items() if _is_run(parent, child, inside)}
        if len(runs) < 2:
            runs = _alike(children[parent], direct[parent])
        if len(runs) < 2 or _one_trainer(parent, states) or _one_logger(runs.values()):
            continue
        for child, inside in runs.items():
            for source in inside:
                owner.setdefault(source.path, child)
    if len(tasks) > 1 and not owner:
        owner = {source.path: name for name, inside in tasks.items() for source in inside}
    return owner


def _is_run(parent: str, child: str, inside: Sequence[Source]) -> bool:
    """Whether a folder looks like that of one run among several."""
    name = child.rpartition("/")[2]
    recorded = any(source.reader not in _SETTINGS for source in inside)
    if not recorded or names.is_torchrun_part(inside[0].path):
        return False
    above = parent.split("/")
    if _PART.fullmatch(name):
        return False
    return (
        above[-1] in _COLLECTIONS
        or _RUN_NAME.fullmatch(name) is not None
        or (name.isdigit() and "multirun" in above)
    )


def _alike(inside: Mapping[str, list[Source]], direct: Sequence[Source]) -> dict[str, list[Source]]:
    """Children that hold a record of the same name as another child, such as `slow/train.log` beside
    `fast/train.log`.

    Records in the folder itself (`direct`) say that its children are parts of one run, unless they are a log
    of another name.
    """
    shapes = {child: _shapes(child, sources) for child, sources in inside.items()}
    counted = Counter(shape for found in shapes.values() for shape in found)
    own = {
        _shape(source.path.replace("\\", "/").rpartition("/")[0], source)
        for source in direct
        if source.reader in _RECORDS
    }
    if any(reader != "text" or (reader, name) in counted for reader, name in own):
        return {}
    return {
        child: sources
        for child, sources in inside.items()
        if any(counted[shape] > 1 for shape in shapes[child])
    }


def _shapes(child: str, sources: Sequence[Source]) -> set[tuple[str, str]]:
    """Reader and name below the folder of every record in a folder that may be that of a run."""
    name = child.rpartition("/")[2]
    if _PART.fullmatch(name) or _PIECE.fullmatch(name) or names.is_torchrun_part(sources[0].path):
        return set()
    return {_shape(child, source) for source in sources if source.reader in _RECORDS}


def _shape(folder: str, source: Source) -> tuple[str, str]:
    """Reader and path below `folder`, numbers and the names of event files set aside."""
    below = source.path.replace("\\", "/").removeprefix(folder + "/")
    head, _, name = below.rpartition("/")
    return source.reader, _DIGITS.sub("#", f"{head}/{'events' if source.reader == 'tfevents' else name}")


def _one_trainer(parent: str, states: set[str]) -> bool:
    """Event folders of restarts that went to the output folder of one Trainer."""
    return parent.rpartition("/")[2] == "runs" and (parent.rpartition("/")[0] or ".") in states


def _one_logger(runs: Iterable[Sequence[Source]]) -> bool:
    """Whether all folders belong to the same logger, as the parts of one resumed W&B run do."""
    loggers = [{source.logger for source in inside} for inside in runs]
    return len({frozenset(one) for one in loggers}) == 1
