"""Readers: one module a format. The folder is the registry, so a new format is one new file here.

`discover` finds what a path holds, `read_into` reads it into a run, `open_source` starts one incremental
session. Folders are helpers. Importing this package loads none of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hrmdoc.readers.sources.feed import open_source, read_into
    from hrmdoc.readers.sources.find import discover
    from hrmdoc.readers.sources.groups import RunGroup, runs_in, runs_note
    from hrmdoc.readers.sources.runs import runs_at, runs_below
    from hrmdoc.readers.sources.source import Source
    from hrmdoc.readers.support.base import Reader

__all__ = [
    "RunGroup",
    "Source",
    "choose",
    "discover",
    "names",
    "open_source",
    "read_into",
    "reader",
    "runs_at",
    "runs_below",
    "runs_in",
    "runs_note",
]

_LAZY = {
    "RunGroup": "sources.groups",
    "Source": "sources.source",
    "discover": "sources.find",
    "open_source": "sources.feed",
    "read_into": "sources.feed",
    "runs_at": "sources.runs",
    "runs_below": "sources.runs",
    "runs_in": "sources.groups",
    "runs_note": "sources.groups",
}


def __getattr__(name: str) -> Any:
    """Loads the working parts on first use: they need numpy."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)


@cache
def names() -> tuple[str, ...]:
    """The name of every reader, in alphabetical order."""
    modules = pkgutil.iter_modules(__path__)
    return tuple(sorted(module.name for module in modules if not module.ispkg))


@cache
def reader(name: str) -> Reader:
    """The reader module of that name."""
    return cast("Reader", importlib.import_module(f"{__name__}.{name}"))


def choose(path: Path, head: bytes) -> Reader | None:
    """The reader that is surest of a file with this name and these first bytes, or None when no reader wants
    it."""
    from hrmdoc.readers.support.asking import asked

    best, certainty = None, 0.0
    for name in asked(names(), path, head):
        score = reader(name).sniff(path, head)
        if score > certainty:
            best, certainty = reader(name), score
    return best
