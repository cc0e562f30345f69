"""Where a run comes from: its machine, its user, how many devices it had, and its settings."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache

from hrmdoc.analysis import Analysis
from hrmdoc.reports.layout import safe
from hrmdoc.rulebook import Rulebook
from hrmdoc.text.redact import redact_value

MOST_SETTINGS = 300
LONGEST = 120
"""Characters of a name or a value that are kept."""
Plain = str | int | float | bool | None


def devices(analysis: Analysis) -> int | None:
    facts, run = analysis.situation.facts, analysis.run
    if str(facts.get("device.kind", "")).startswith("cpu"):
        return 0
    sizes = (facts.get("world_size"), _stated_fact(analysis, "env", "gpu_count"), len(run.ranks) or None)
    known = next((one for one in sizes if isinstance(one, int | float) and not isinstance(one, bool)), None)
    return None if known is None or not 0 < known < 1e7 else int(known)


def _stated_fact(analysis: Analysis, scope: str, key: str) -> Plain:
    fact = analysis.run.fact(key, scope)
    return None if fact is None else fact.value


_EVENT_FILE = re.compile(r"events\.out\.tfevents\.\d+\.(?P<host>[\w.-]+?)(?:\.\d+){1,2}(?:\.v2)?$")


def host(analysis: Analysis) -> str:
    """The machine that the run logged, or that an event file is named after."""
    for scope, key in (("run", "run.host"), ("env", "host"), ("env", "HOSTNAME"), ("env", "SLURMD_NODENAME")):
        if isinstance(host := _stated_fact(analysis, scope, key), str) and host:
            return safe(host, 64)
    files = (name for series in analysis.run.series.values() for name in series.files[:1])
    found = next((match for name in files if (match := _EVENT_FILE.search(name))), None)
    return safe(found["host"], 64) if found else ""


def user(analysis: Analysis, files: Iterable[str]) -> str:
    """Who the run says that it ran for, else who owns its records."""
    for key in ("SLURM_JOB_USER", "USER", "LOGNAME", "username", "user"):
        if isinstance(user := _stated_fact(analysis, "env", key), str) and user:
            return safe(user, 64)
    for file in files:
        with suppress(OSError):
            return _owner(os.stat(file).st_uid)
    return ""


@lru_cache(maxsize=1024)
def _owner(number: int) -> str:
    try:
        import pwd
    except ImportError:  # Windows, where every owner is 0
        return ""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@lru_cache(maxsize=4)
def _canonical(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith(("run.", "ranks.", "env.")))


def settings(analysis: Analysis) -> dict[str, Plain]:
    """Canonical settings first, then the framework's own."""
    names = _canonical(_config_keys(analysis.book))
    found: dict[str, Plain] = {
        key: value for key, value in analysis.situation.facts.items() if key in names and _is_plain(value)
    }
    for (scope, key), fact in analysis.run.facts.items():
        if scope == "config" and _is_plain(fact.value) and len(key) <= LONGEST:
            found.setdefault(safe(key, LONGEST), fact.value)
    return {key: _short(key, value) for key, value in _first_few(found, MOST_SETTINGS)}


def _config_keys(book: Rulebook) -> frozenset[str]:
    return frozenset(key for framework in book.frameworks.values() for key in framework.config)


def _first_few(found: dict[str, Plain], most: int) -> Iterator[tuple[str, Plain]]:
    return (pair for pair, _ in zip(found.items(), range(most), strict=False))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _short(key: str, value: Plain) -> Plain:
    hidden = redact_value(key, value)
    if isinstance(hidden, float) and not math.isfinite(hidden):
        return str(hidden)
    if isinstance(hidden, int) and not isinstance(hidden, bool) and abs(hidden) >= 2**63:
        return float(hidden) if abs(hidden) < 2**1000 else str(hidden)[:LONGEST]
    return safe(hidden, LONGEST) if isinstance(hidden, str) else hidden
