"""Which folder is that of a run, and which holds a part of one, by the names that loggers give and by what
lies in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hrmdoc.readers.sources.rivals import are_rivals
from hrmdoc.readers.sources.source import Source
from hrmdoc.readers.support import names
from hrmdoc.text import patterns

SETTINGS = frozenset({"configs", "run_json"})
_COLLECTIONS = frozenset(
    ["runs", "lightning_logs", "tb_logs", "multirun", "experiments", "ray_results", "sweeps", "wandb"]
)
_RUN_NAME = patterns.lazy(
    r"version_\d+|(?:offline-)?run-\d{8}_\d{6}-[\w-]+|(?:run|exp|trial|seed|train|predict|val)[_-]?\d+|train|[0-9a-f]{32}"
    r"|.*(?:19|20)\d\d-?[01]\d-?[0-3]\d.*|[0-2]\d-[0-5]\d-[0-5]\d|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+|[A-Z][A-Z0-9]{1,7}_\d+"
)
_RECORDS = frozenset(
    {"text", "trials", "csv", "jsonl", "tfevents", "hf_state", "json_history", "wandb"}
    | {"clearml", "comet", "neptune", "swanlab"}
)
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
"""Folders that hold parts of one run as often as runs; they are kept apart by other marks than the names of
their files."""


def owned(sources: Sequence[Source]) -> dict[str, str]:
    """File -> the folder of its run, for files in a collection of runs. The innermost collection counts."""
    children: dict[str, dict[str, list[Source]]] = defaultdict(lambda: defaultdict(list))
    direct: dict[str, list[Source]] = defaultdict(list)
    states = {source.logger.rpartition("/")[0] for source in sources if source.reader == "hf_state"}
    owner: dict[str, str] = {}
    for source in sources:
        parts = source.path.replace("\\", "/").split("/")
        for depth in range(1, len(parts)):
            children["/".join(parts[: depth - 1])]["/".join(parts[:depth])].append(source)
        direct["/".join(parts[:-1])].append(source)
    parents = sorted(children, key=lambda name: name.count("/"), reverse=True)
    for parent in parents:
        for child, inside in _runs_of(parent, children[parent], direct[parent], states).items():
            for source in inside:
                owner.setdefault(source.path, child)
    if owner := owner or _tasks(sources):
        return owner
    rivals = (_rivals(children[parent], direct[parent]) for parent in parents)
    found = next(
        filter(None, rivals), {}
    )  # what names do not tell, the innermost folders do by what they hold
    return {source.path: child for child, inside in found.items() for source in inside}


def _runs_of(
    parent: str, children: Mapping[str, list[Source]], direct: Sequence[Source], states: set[str]
) -> dict[str, list[Source]]:
    """The children of a folder that are runs side by side; none where it holds one run. What holds the same
    record as children that are named as runs is one of them."""
    named = {child: inside for child, inside in children.items() if _is_run(parent, child, inside)}
    runs = _alike(children, direct)
    if len(named) > 1:
        shapes = {shape for child, inside in named.items() for shape in _shapes(child, inside)}
        beside = {child: inside for child, inside in runs.items() if shapes & _shapes(child, inside)}
        runs = beside | named
    apart = len(runs) > 1 and not is_one_trainer(parent, states) and not _one_logger(runs.values())
    return runs if apart else {}


def _tasks(sources: Sequence[Source]) -> dict[str, str]:
    """File -> the task of a Slurm array that wrote it, where there are several."""
    found = ((source.path, _ARRAY_TASK.match(source.path.replace("\\", "/"))) for source in sources)
    tasks = {path: f"{task['job']}_{task['task']}" for path, task in found if task}
    return tasks if len(set(tasks.values())) > 1 else {}


def parted(sources: Iterable[Source]) -> tuple[list[Source], list[Source]]:
    """Records, and the settings beside them."""
    records: list[Source] = []
    settings: list[Source] = []
    for source in sources:
        (settings if source.reader in SETTINGS else records).append(source)
    return records, settings


def _is_run(parent: str, child: str, inside: Sequence[Source]) -> bool:
    """Whether a folder looks like that of one run among several."""
    name = child.rpartition("/")[2]
    recorded = any(source.reader not in SETTINGS for source in inside)
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


def _rivals(inside: Mapping[str, list[Source]], direct: Sequence[Source]) -> dict[str, list[Source]]:
    """Children whose records tell different courses of the same metric, such as `resnet/a.log` beside
    `vit/b.log`, or folders that are numbered from another number than a rank's 0."""
    ranks = any(child.rpartition("/")[2] == "0" for child in inside)
    found = {
        child: records
        for child, sources in inside.items()
        if (records := [one for one in sources if one.reader in _RECORDS])
        and _may_be_run(child, sources, ranks)
    }
    beside = any(source.reader in _RECORDS for source in direct)
    return {child: inside[child] for child in found} if not beside and are_rivals(found.values()) else {}


def _may_be_run(child: str, sources: Sequence[Source], ranks: bool) -> bool:
    """Whether nothing in its name says that a folder holds a part of a run; `ranks`: those that are numbered
    are numbered from 0."""
    name = child.rpartition("/")[2]
    if not child or names.is_torchrun_part(sources[0].path) or _PART.fullmatch(name):
        return False
    return not _PIECE.fullmatch(name) or (name.isdigit() and not ranks)


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


def is_part(folder: str) -> bool:
    """Whether a folder is named as a part of a run, such as a rank or the event files, and not as a run."""
    return _PART.fullmatch(folder.rpartition("/")[2]) is not None


def is_run_name(name: str) -> bool:
    """Whether loggers give runs such names."""
    return _RUN_NAME.fullmatch(name) is not None


def home_of(path: str) -> str:
    """The folder of the run that a file belongs to: its own, or the one above folders of parts."""
    folder = path.replace("\\", "/").rpartition("/")[0]
    while folder and is_part(folder):
        folder = folder.rpartition("/")[0]
    return folder


def is_one_trainer(parent: str, states: set[str]) -> bool:
    """Event folders of restarts that went to the output folder of one Trainer."""
    return parent.rpartition("/")[2] == "runs" and (parent.rpartition("/")[0] or ".") in states


def _one_logger(runs: Iterable[Sequence[Source]]) -> bool:
    """Whether all folders belong to the same logger, as the parts of one resumed W&B run do."""
    loggers = [{source.logger for source in inside} for inside in runs]
    return len({frozenset(one) for one in loggers}) == 1
