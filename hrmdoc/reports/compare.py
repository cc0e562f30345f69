"""What differs between a sick and a healthy run: configuration, environment, data, and where their curves
part."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrmdoc.analysis import Analysis
from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.record.series import Series

APART = 6.0
"""Curves part where their distance exceeds this many times the noise of the reference, and stays."""
STAYS = 5
IGNORED = re.compile(
    r"run\.(path|command|id|name|config_source|kind|pid|started|state|phase|seconds_to_first_step|steps_since_checkpoint|commit)|heartbeat\..*"
)
"""Facts that differ between any two runs and explain nothing."""
LOGGED = frozenset({"optimizer.lr", "device.platform"})
"""Facts of the configuration and the machine that a log without either tells by its values."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs. `section` is `config`, `environment`, `versions` or `run`; None means that the run
    lacks it."""

    section: str
    key: str
    sick: Any
    healthy: Any


@dataclass(frozen=True, slots=True)
class Parting:
    """The first step from which a metric of the sick run stays away from the healthy one's, None where it
    never does."""

    role: str
    step: int | None
    sick: float
    healthy: float
    noise: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences; symptoms that only the sick run has, by id."""

    differences: tuple[Difference, ...]
    partings: tuple[Parting, ...]
    only_sick: tuple[str, ...]

    @property
    def first_parting(self) -> Parting | None:
        """The metric that parts first."""
        parted = [one for one in self.partings if one.step is not None]
        return min(parted, key=lambda one: one.step or 0, default=None)


def compare(sick: Analysis, healthy: Analysis) -> Comparison:
    """Compares two analysed runs."""
    mine = {s.id for s in sick.present if s.state == "present"}
    theirs = {s.id for s in healthy.present if s.state == "present"}
    return Comparison(
        tuple(differences(sick, healthy)), tuple(_partings(sick, healthy)), tuple(sorted(mine - theirs))
    )


def differences(sick: Analysis, healthy: Analysis) -> Iterator[Difference]:
    """The facts in which they differ: configuration, environment, versions."""
    for section, scope in (("config", "config"), ("environment", "env"), ("versions", "version")):
        mine, theirs = _facts(sick, scope), _facts(healthy, scope)
        yield from _unequal(section, mine, theirs)
    # Canonical facts tell of runs whose configs are of different frameworks or were only read from logs.
    mine, theirs = dict(sick.situation.facts), dict(healthy.situation.facts)
    derived = (sick.situation.derived | healthy.situation.derived) - LOGGED
    shared = {key: value for key, value in mine.items() if key in theirs and key not in derived}
    yield from _unequal("run", shared, {key: theirs[key] for key in shared})


def _facts(analysis: Analysis, scope: str) -> dict[str, Any]:
    return {key: fact.value for (s, key), fact in analysis.run.facts.items() if s == scope}


def _unequal(section: str, mine: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Difference]:
    if not mine or not theirs:
        return
    for key in sorted(mine.keys() | theirs.keys()):
        a, b = mine.get(key), theirs.get(key)
        if not IGNORED.fullmatch(key) and not _same(a, b):
            yield Difference(section, key, a, b)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float | int) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)


def _partings(sick: Analysis, healthy: Analysis) -> Iterator[Parting]:
    roles = sorted({s.role.role for s in sick.run.series.values() if s.role.role and not s.role.guessed})
    for role in roles:
        mine, theirs = sick.run.best(role), healthy.run.best(role)
        if mine is not None and theirs is not None:
            found = parting(role, mine, theirs)
            if found is not None:
                yield found


def parting(role: str, sick: Series, healthy: Series) -> Parting | None:
    """Compares one metric on the steps that both runs have; None when they share fewer than 5.

    The noise is 1.4826 times the median absolute difference of successive healthy values around their own
    median, divided by the square root of 2 (the standard deviation of one value, if noise is normal).
    """
    steps, a, b = _aligned(sick, healthy)
    if len(steps) < STAYS:
        return None
    usual = b[np.isfinite(b)]
    jumps = np.diff(usual)
    noise = float(1.4826 * np.median(np.abs(jumps - np.median(jumps))) / math.sqrt(2)) if len(jumps) else 0.0
    scale = max(noise, 1e-3 * float(np.median(np.abs(usual))) if len(usual) else 0.0, 1e-12)
    both = np.isfinite(a) & np.isfinite(b)
    away = (
        ~both & (a != b) & ~(np.isnan(a) & np.isnan(b))
    )  # not finite in one run only, or not in the same way
    away[both] = np.abs(a[both] - b[both]) > APART * scale
    runs = np.convolve(away.astype(int), np.ones(STAYS, int), "valid")
    starts = np.flatnonzero(runs == STAYS)
    index = int(starts[0]) if len(starts) else None
    at = len(steps) - 1 if index is None else index
    return Parting(role, None if index is None else int(steps[index]), float(a[at]), float(b[at]), scale)


def _aligned(sick: Series, healthy: Series) -> tuple[IntArray, FloatArray, FloatArray]:
    """Values of both at the steps they share; a step written twice counts with its last value."""
    mine, theirs = _last_of_each(sick), _last_of_each(healthy)
    steps, left, right = np.intersect1d(mine[0], theirs[0], return_indices=True)
    return steps, mine[1][left], theirs[1][right]


def _last_of_each(series: Series) -> tuple[IntArray, FloatArray]:
    steps, index = np.unique(series.steps[::-1], return_index=True)
    return steps, series.values[::-1][index]
