"""The config that a run was probably started from, where it does not say: a file beside it that agrees."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.remedies.own_config import config_facts
from hrmdoc.roles.canonical import settings_of
from hrmdoc.roles.framework import chain
from hrmdoc.rulebook import Rulebook

SUFFIXES = frozenset([".yaml", ".yml", ".json", ".jsonc"])
_CONFIG_FOLDERS = ("conf", "config", "configs")
_MOST_FILES = 100
_ALIKE = 0.05
"""Logged values differ from those of the config by rounding, and a rate by the first steps of its decay."""
_TELLING = "optimizer.lr"


def probable_configs(
    folder: Path, framework: str, facts: Mapping[str, Any], book: Rulebook, within: Callable[[Path], bool]
) -> Iterator[Path]:
    """Config files in the run's `folder`, above it and in the working folder, as far as these are `within`
    what may be read, whose learning rate is that of the run, and which contradict it in nothing that both
    say."""
    if not isinstance(facts.get(_TELLING), int | float):
        return
    spelled = chain(framework, book)
    for path in filter(within, _candidates(folder, within)):
        try:
            own = [fact for fact in config_facts(path) if fact.scope == "config"]
            said = settings_of(own, spelled[:1], book.frameworks.get("generic"))
        except InputError:
            continue
        shared = [key for key in said if _is_number(said[key].value) and _is_number(facts.get(key))]
        if _TELLING in shared and all(_alike(said[key].value, facts[key]) for key in shared):
            yield path


def _candidates(folder: Path, within: Callable[[Path], bool]) -> Iterator[Path]:
    here = [Path(), *(Path(name) for name in _CONFIG_FOLDERS)]
    for place in dict.fromkeys(one.resolve() for one in (folder, folder.parent, *here) if within(one)):
        try:
            entries = sorted(place.iterdir())[:_MOST_FILES]
        except OSError:
            continue
        yield from (path for path in entries if path.suffix.lower() in SUFFIXES and os.path.isfile(path))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _alike(one: Any, other: Any) -> bool:
    return math.isclose(one, other, rel_tol=_ALIKE)
