"""The config that a run was probably started from, where it does not say: a file beside it that agrees."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hrmdoc.errors import InputError, PatchError
from hrmdoc.remedies import files
from hrmdoc.remedies.own_config import config_facts
from hrmdoc.roles.canonical import settings_of
from hrmdoc.roles.framework import chain
from hrmdoc.roles.nested import loose
from hrmdoc.rulebook import Framework, Rulebook

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
    spelled, generic = chain(framework, book)[:1], book.frameworks.get("generic")
    rate = _names_of_the_rate([*spelled, *([generic] if generic else [])])
    for path in filter(within, _candidates(folder, within)):
        try:
            if not rate.search(loose(files.read(path).text)):
                continue
            own = [fact for fact in config_facts(path) if fact.scope == "config"]
            said = settings_of(own, spelled, generic)
        except (InputError, PatchError):
            continue
        shared = [key for key in said if _is_number(said[key].value) and _is_number(facts.get(key))]
        if _TELLING in shared and all(_alike(said[key].value, facts[key]) for key in shared):
            yield path


def _names_of_the_rate(frameworks: Iterable[Framework]) -> re.Pattern[str]:
    """The last words of the rate's keys: to parse a long file costs a hundred times what it costs to look for
    these in its text."""
    keys = [framework.config[_TELLING].keys for framework in frameworks if _TELLING in framework.config]
    words = {re.escape(loose(name.rpartition(".")[2])) for names in keys for name in names}
    return re.compile(rf"\b(?:{'|'.join(sorted(words))})\b" if words else r"(?!)")


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
