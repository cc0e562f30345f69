"""Lists the runs that lie below paths: folders, files and patterns, each as the sources of one run.

Several paths are several runs, unless their names say that they are parts of one: the logs of ranks, an event
file beside a log, `train.csv` and `val.csv`, rotated logs, standard output and standard error of one job.
"""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import structs

from hrmdoc import readers
from hrmdoc.readers.sources import find, folders, groups, remote
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.readers.sources.groups import RunGroup
from hrmdoc.readers.sources.rivals import are_rivals
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.support import names
from hrmdoc.readers.tables.labels import metric_of
from hrmdoc.record.records import Damage
from hrmdoc.text import patterns

_BESIDE_A_LOG = frozenset(
    {"tfevents", "hf_state", "nvidia_smi", "exposition", "powermetrics", "flight_recorder", "torchrun"}
)
_ONE_FOLDER = frozenset({"clearml", "comet"})
"""Trackers that keep a run as a folder, or a zip file, of several files."""
_PATTERN = frozenset("*?[")
_PART_WORDS = patterns.lazy(
    r"(?:^|[._-])(?:(?:global|local)?(?:rank|worker|gpu|node|proc|process|device)[._-]?\d+|(?:stdout|stderr|out|err|output|console"
    r"|logs?|train|training|val|valid|validation|eval|evaluation|dev|test))+(?=[._-]|$)",
    re.IGNORECASE,
)
"""Words in the name of a file that say which part of a run it is, not which run."""


def runs_below(
    paths: find.Paths,
    problems: list[Damage] | None = None,
    *,
    one_run: bool = False,
    how: Listing | None = None,
) -> list[RunGroup]:
    """The runs below `paths`, the one that changed last at the end.

    Args:
        paths: folders, files, patterns such as `runs/*`, archives, or `-`; one or several. Of several paths
            those that hold no run (reports, pictures, settings alone) are passed by.
        problems: receives what was passed by although it looked like part of a run.
        one_run: everything is read as one run.
        how: how many files are looked at, and what is known of them; by default a usual folder's worth.

    Raises:
        InputError: a path does not exist, or nothing at all can be read.
    """
    named = _named_once([paths] if isinstance(paths, str | os.PathLike) else paths)
    noted = [] if problems is None else problems
    found = find.discover_each(named, noted, unpacking=True, how=how)
    everything = [source for _, sources in found for source in sources]
    if one_run:
        return [groups.group_of(_label_of_all(named, everything), everything)]
    return [one for run in _told_apart(named, found, everything) for one in _in_database(run)]


def _told_apart(
    named: Sequence[str], found: Sequence[tuple[str, list[Source]]], everything: Sequence[Source]
) -> list[RunGroup]:
    """The runs of the files and folders that were found below each named path."""
    recorded, _ = folders.parted(everything)
    if not recorded or (len(recorded) < 2 and len(named) == 1):
        return [groups.group_of(_label_of_all(named, everything), everything)]
    runs: list[RunGroup] = []
    loose: list[Source] = []
    states = {one.logger.rpartition("/")[0] for one in everything if one.reader == "hf_state"}
    for path, sources in found:
        inside, rest = _below(path, sources, states)
        runs += inside
        loose += rest
    records, settings = folders.parted(loose)
    return [_with_settings(run, settings) for run in groups.continued(_by_age(runs + _of_files(records)))]


def _label_of_all(named: Sequence[str], sources: Sequence[Source]) -> str:
    return named[0] if len(named) == 1 else groups.common(sources)


def _named_once(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Paths with patterns resolved; a link is left out where its target is named as well."""
    named = [found for path in paths for found in _resolved(os.fspath(path))]
    if len(named) > 1:
        named = [path for path in named if not _passed_by(path)] or named
    direct = {os.path.realpath(path) for path in named if not os.path.islink(path)}
    kept: dict[str, str] = {}
    for path in named:
        real = path if path == STDIN or remote.is_remote(path) else os.path.realpath(path)
        if not (os.path.islink(path) and real in direct):
            kept.setdefault(real, path)
    return list(kept.values())


def _resolved(path: str) -> list[str]:
    """The paths that a pattern stands for; a path that exists is no pattern."""
    if remote.is_remote(path):
        return remote.resolved(path)
    if os.path.lexists(path) or _PATTERN.isdisjoint(path):
        return [path]
    return sorted(glob.glob(path)) or [path]


def _passed_by(path: str) -> bool:
    """Whether one of several named paths is surely no run: a report, a picture, a cache."""
    name = os.path.basename(os.path.normpath(path))
    if os.path.isdir(path):
        return names.is_no_log_folder(name) or names.is_no_run_folder(path)
    ending = name.rpartition(".")[2].lower()
    return os.path.isfile(path) and names.is_no_log(name) and ending not in ("zip", "tar", "tgz", "ipynb")


def _below(path: str, sources: Sequence[Source], states: set[str]) -> tuple[list[RunGroup], list[Source]]:
    """The runs that one named path holds, and what may be part of one that other paths hold too; `states`:
    the folders of all state files of a Trainer."""
    folder = path.replace(os.sep, "/").rstrip("/") or path
    if path == STDIN or not _is_folder(folder, sources):
        inside = folders.owned(sources) if len(sources) > 1 else {}
        return _owned(sources, inside)
    alone = folders.is_part(folder) or folders.is_one_trainer(folder, states)
    owner = {} if alone or len(sources) < 2 else folders.owned(sources)
    if owner:
        return _owned(sources, owner)
    if alone or _apart_by_name_or_course(sources):
        return [], list(sources)
    return [groups.group_of(folder, sources)], []


def _apart_by_name_or_course(sources: Sequence[Source]) -> bool:
    """Whether the files of a folder name runs, or tell several; also where none is a record."""
    stems = _gathered(folders.parted(sources)[0], _stem)
    if len(stems) > 1 and all(folders.is_run_name(str(stem)) for stem in stems):
        return True
    return not stems or (folders.is_flat(sources) and are_rivals(stems.values()))


def _is_folder(path: str, sources: Sequence[Source]) -> bool:
    """Whether a named path is a folder, here or in object storage."""
    if remote.is_remote(path):
        return any(source.path.startswith(path + "/") for source in sources)
    return os.path.isdir(path)


def _owned(sources: Sequence[Source], owner: dict[str, str]) -> tuple[list[RunGroup], list[Source]]:
    """Runs in folders of their own, and the sources that lie in none. A record beside the folders that was
    written after the newest run began belongs to it."""
    owned = [source for source in sources if source.path in owner]
    loose = [source for source in sources if source.path not in owner]
    inside = _gathered(owned, lambda source: owner[source.path])
    runs = _by_age(groups.group_of(str(folder), members) for folder, members in inside.items())
    if not runs:
        return [], loose
    begun = min(source.started for source in runs[-1].sources)
    late = {source.path for source in folders.parted(loose)[0] if source.mtime >= begun}
    newest = late | {source.path for source in runs[-1].sources}
    runs[-1] = groups.group_of(runs[-1].folder, [source for source in sources if source.path in newest])
    return runs, [source for source in loose if source.path not in late]


def _of_files(sources: Sequence[Source]) -> list[RunGroup]:
    """Runs of records that lie in no folder of a run, by what the names of the files say."""
    runs: list[RunGroup] = []
    for home, members in _gathered(sources, lambda source: folders.home_of(source.path)).items():
        if any(source.reader in _ONE_FOLDER for source in members):
            runs.append(groups.group_of(_label(str(home), members), members))
            continue
        stems = _gathered(members, _stem)
        named = {str(stem): inside for stem, inside in stems.items() if stem}
        apart = sum(map(folders.is_run_name, named)) > 1
        if not apart and (len(named) < 2 or _one_of_each_kind(named.values())):
            runs.append(groups.group_of(_label(str(home), members), members))
            continue
        if beside := stems.get(""):
            runs.append(groups.group_of(_label(str(home), beside), beside))
        runs += [groups.group_of(_label("", inside), inside) for inside in named.values()]
    return runs


def _stem(source: Source) -> str:
    """What names the run in the name of a file; empty where it says only which part of a run it
    is, such as its rank or its metric."""
    if source.reader in _BESIDE_A_LOG or source.path == STDIN or metric_of(source.path):
        return ""
    name = names.plain_name(source.logger.replace("\\", "/").rpartition("/")[2])
    stem, dot, ending = name.rpartition(".")
    stem = stem if dot and not ending.isdigit() else name
    return _PART_WORDS.sub("", stem).strip("._-")


def _one_of_each_kind(files: Iterable[Sequence[Source]]) -> bool:
    """Whether no two of the files, which have names of their own, are read by the same reader."""
    kinds = [{source.reader for source in inside} for inside in files]
    return sum(map(len, kinds)) == len(set().union(*kinds))


def _label(home: str, members: Sequence[Source]) -> str:
    """What to call a run of files, such that it can be typed."""
    if len(members) == 1:
        return members[0].path
    begin = os.path.commonprefix([source.path for source in members])  # noqa: RUF071 (of letters, not of folders)
    return home or begin.rstrip("._-") + "*"


def _with_settings(run: RunGroup, settings: Sequence[Source]) -> RunGroup:
    """The run with the settings that lie in its folder or above; those of other folders count for all runs
    where they were named without a run. What the run itself says is read behind them, so that it counts."""
    homes = {folders.home_of(source.path) for source in run.sources}
    held = {source.path for source in run.sources}
    mine = [
        one
        for one in settings
        if one.path not in held and any(_is_below(home, folders.home_of(one.path)) for home in homes)
    ]
    return structs.replace(run, sources=(*mine, *run.sources)) if mine else run


def _is_below(folder: str, above: str) -> bool:
    return above in ("", ".") or folder == above or folder.startswith(above + "/")


def _in_database(run: RunGroup) -> Iterable[RunGroup]:
    """A group for each run of a database that holds several, else the run itself."""
    stores, _ = folders.parted(run.sources)
    if len(stores) != 1 or stores[0].part or stores[0].stored or not stores[0].reader:
        return [run]
    store = stores[0]
    runs_of: Callable[[str], list[str]] | None = getattr(readers.reader(store.reader), "runs", None)
    inside = runs_of(store.path) if runs_of is not None else []

    def only(part: str) -> list[Source]:
        return [structs.replace(one, part=part) if one is store else one for one in run.sources]

    if len(inside) < 2:
        return [run]
    return [groups.group_of(f"{store.path}#{part}", only(part)) for part in inside]


def _gathered(sources: Iterable[Source], key: Callable[[Source], Hashable]) -> dict[Hashable, list[Source]]:
    found: dict[Hashable, list[Source]] = defaultdict(list)
    for source in sources:
        found[key(source)].append(source)
    return dict(found)


def _by_age(runs: Iterable[RunGroup]) -> list[RunGroup]:
    return sorted(runs, key=lambda run: (run.changed, names.natural(run.folder)))
