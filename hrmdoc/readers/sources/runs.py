"""Lists the runs that lie below paths: folders, files and patterns, each as the sources of one run.

Several paths are several runs, unless their names say that they are parts of one: the logs of ranks, an event
file beside a log, `train.csv` and `val.csv`, rotated logs, standard output and standard error of one job.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from hrmdoc import readers
from hrmdoc.readers.sources import find, folders, groups, remote
from hrmdoc.readers.sources.asked import named_once
from hrmdoc.readers.sources.beginning import Listing
from hrmdoc.readers.sources.groups import RunGroup
from hrmdoc.readers.sources.order import ordered
from hrmdoc.readers.sources.rivals import are_rivals
from hrmdoc.readers.sources.source import STDIN, Source
from hrmdoc.readers.sources.stems import gathered, stem
from hrmdoc.readers.support import names
from hrmdoc.record.records import Damage

_ONE_FOLDER = frozenset({"clearml", "comet"})
"""Trackers that keep a run as a folder, or a zip file, of several files."""
_STORES = frozenset({"mlflow"})
"""Trackers that keep all runs below one folder, a file a value; where there is nothing else, its name is no
part's."""


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
    named = named_once([paths] if isinstance(paths, str | os.PathLike) else paths)
    noted = [] if problems is None else problems
    found = find.discover_each(named, noted, unpacking=True, how=how)
    if one_run:
        everything = ordered([source for _, sources in found for source in sources])
        return [groups.group_of(_label_of_all(named, everything), everything)]
    return [one for run in _told_apart(named, found) for one in _in_database(run)]


def runs_at(path: str | os.PathLike[str], problems: list[Damage]) -> list[RunGroup]:
    """As `runs_below` of one path, where one run is read: a database is one, of which its reader takes the
    newest, and the others are to be named."""
    named = named_once([path])
    return _told_apart(named, find.discover_each(named, problems, unpacking=True))


def _told_apart(named: Sequence[str], found: Sequence[tuple[str, list[Source]]]) -> list[RunGroup]:
    """The runs of the files and folders that were found below each named path."""
    everything = ordered([source for _, sources in found for source in sources])
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
    records, settings = folders.parted(ordered(loose))
    return [
        _with_settings(run, settings) for run in groups.continued(_by_age(runs + _of_files(records, runs)))
    ]


def _label_of_all(named: Sequence[str], sources: Sequence[Source]) -> str:
    return named[0] if len(named) == 1 else groups.common(sources)


def _below(path: str, sources: Sequence[Source], states: set[str]) -> tuple[list[RunGroup], list[Source]]:
    """The runs that one named path holds, and what may be part of one that other paths hold too; `states`:
    the folders of all state files of a Trainer."""
    folder = path.replace(os.sep, "/").rstrip("/") or path
    if path == STDIN or not _is_folder(folder, sources):
        inside = folders.owned(sources) if len(sources) > 1 else {}
        return _owned(sources, inside)
    part = folders.is_part(folder) and any(source.reader not in _STORES for source in sources)
    alone = part or folders.is_one_trainer(folder, states)
    owner = {} if alone or len(sources) < 2 else folders.owned(sources)
    if owner:
        return _owned(sources, owner)
    if alone or _apart_by_name_or_course(sources):
        return [], list(sources)
    return [groups.group_of(folder, sources)], []


def _apart_by_name_or_course(sources: Sequence[Source]) -> bool:
    """Whether the files of a folder name runs, or those of one folder in it tell several; also where none is
    a record."""
    records, _ = folders.parted(sources)
    named = gathered(records, stem)
    if len(named) > 1 and all(folders.is_run_name(str(name)) for name in named):
        return True
    homes = gathered(records, lambda source: folders.home_of(source.path))
    return not named or any(are_rivals(gathered(members, stem).values()) for members in homes.values())


def _is_folder(path: str, sources: Sequence[Source]) -> bool:
    """Whether a named path is a folder, here or in object storage."""
    if remote.is_remote(path):
        return any(source.path.startswith(path + "/") for source in sources)
    return os.path.isdir(path)


def _owned(sources: Sequence[Source], owner: dict[str, str]) -> tuple[list[RunGroup], list[Source]]:
    """Runs in folders of their own, and the sources that lie in none, but for the late records of the newest
    run."""
    owned = [source for source in sources if source.path in owner]
    loose = [source for source in sources if source.path not in owner]
    inside = gathered(owned, lambda source: owner[source.path])
    runs = _by_age(groups.group_of(str(folder), members) for folder, members in inside.items())
    if not runs:
        return [], loose
    late = groups.late_records(loose, runs[-1].sources)
    newest = late | {source.path for source in runs[-1].sources}
    runs[-1] = groups.group_of(runs[-1].folder, [source for source in sources if source.path in newest])
    return runs, [source for source in loose if source.path not in late]


def _of_files(sources: Sequence[Source], others: Sequence[RunGroup]) -> list[RunGroup]:
    """Runs of records that lie in no folder of a run, by what the names of the files say. A folder that holds
    `others` as well is no name of one run."""
    runs: list[RunGroup] = []
    shared = {one.folder.rpartition("/")[0] for one in others}
    for home, members in gathered(sources, lambda source: folders.home_of(source.path)).items():
        if any(source.reader in _ONE_FOLDER for source in members):
            runs.append(groups.group_of(_label(str(home), members), members))
            continue
        home = "" if home in shared else home
        stems = gathered(members, stem)
        named = {str(name): inside for name, inside in stems.items() if name}
        apart = sum(map(folders.is_run_name, named)) > 1
        if not apart and (len(named) < 2 or _one_of_each_kind(named.values())):
            runs.append(groups.group_of(_label(str(home), members), members))
            continue
        if beside := stems.get(""):
            runs.append(groups.group_of(_label(str(home), beside), beside))
        runs += [groups.group_of(_label("", inside), inside) for inside in named.values()]
    return runs


def _one_of_each_kind(files: Iterable[Sequence[Source]]) -> bool:
    """Whether no two of the files, which have names of their own, are read by the same reader."""
    kinds = [{source.reader for source in inside} for inside in files]
    return sum(map(len, kinds)) == len(set().union(*kinds))


def _label(home: str, members: Sequence[Source]) -> str:
    """What to call a run of files, such that it can be typed."""
    if len(members) == 1:
        return members[0].path
    begin = os.path.commonprefix([source.path for source in members])  # noqa: RUF071 (of letters, not of folders)
    alike = begin.rstrip("._-")
    return home or (members[0].path if not alike or alike.endswith("/") else alike + "*")


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


def _by_age(runs: Iterable[RunGroup]) -> list[RunGroup]:
    return sorted(runs, key=lambda run: (run.changed, names.natural(run.folder)))
