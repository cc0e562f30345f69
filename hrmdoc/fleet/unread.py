"""What lies below the paths of a triage and could not be read: a row each, so that nothing leaves without a
word."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from hrmdoc.fleet.summary import Summary, failed
from hrmdoc.readers import RunGroup
from hrmdoc.record.records import Damage
from hrmdoc.reports.layout import safe

_NOTHING = "holds nothing any more that can be read"


def unread(problems: Iterable[Damage], groups: Sequence[RunGroup]) -> tuple[list[Summary], list[Damage]]:
    """Rows for files and folders that cannot be looked into, named as their runs would be, and the problems
    that get none, since a run beside them is read or nothing is missing."""
    read = {source.path for group in groups for source in group.sources}
    homes = {os.path.dirname(path) for path in read}
    rows: dict[str, Summary] = {}
    others = []
    for one in problems:
        home = one.file if os.path.isdir(one.file) else os.path.dirname(one.file)
        if not one.incomplete or one.file in read or home in homes:
            others.append(one)
            continue
        path = home if _is_alone(one.file, home) else one.file
        rows.setdefault(path, failed(path, safe(f"{os.path.basename(one.file)} {one.what}")))
    return list(rows.values()), others


def emptied(before: Iterable[str], groups: Sequence[RunGroup], known: Iterable[Summary]) -> Iterator[Summary]:
    """Rows for runs of the triage before that still lie there and are read no more."""
    here = {os.path.normpath(source.path) for group in groups for source in group.sources}
    here |= {above for path in here for above in _above(path)}
    here |= {group.folder for group in groups} | {run.path for run in known}
    for path in sorted(set(before) - here):
        if _holds_files(path):
            yield failed(path, _NOTHING)


def _holds_files(path: str) -> bool:
    """Whether it is a file, or a folder with one; a folder that was emptied is gone."""
    try:
        return os.path.isfile(path) or any(one.is_file() for one in os.scandir(path))
    except OSError:
        return False


def _is_alone(file: str, home: str) -> bool:
    """Whether nothing else lies in the folder of a file."""
    try:
        return os.path.isfile(file) and len(os.listdir(home)) == 1
    except OSError:
        return False


def _above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in ("", os.sep):
        yield path
