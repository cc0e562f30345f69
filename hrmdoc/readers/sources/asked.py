"""What the paths of a command line stand for: patterns resolved, links beside their targets left out, and
what is surely no run."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from hrmdoc.readers.sources import remote
from hrmdoc.readers.sources.source import STDIN
from hrmdoc.readers.support import names

_PATTERN = frozenset("*?[")


def named_once(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
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
    """The paths that a pattern stands for, `**` any folders below; a path that exists is no pattern."""
    if remote.is_remote(path):
        return remote.resolved(path)
    if os.path.lexists(path) or _PATTERN.isdisjoint(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) or [path]


def _passed_by(path: str) -> bool:
    """Whether one of several named paths is surely no run: a report, a picture, a cache."""
    name = os.path.basename(os.path.normpath(path))
    if os.path.isdir(path):
        return names.is_no_log_folder(name) or names.is_no_run_folder(path)
    ending = name.rpartition(".")[2].lower()
    return os.path.isfile(path) and names.is_no_log(name) and ending not in ("zip", "tar", "tgz", "ipynb")
