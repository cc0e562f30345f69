"""What a rule may look at, what it finds, and what its expressions may ask of series and symptoms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hrmdoc import expressions
from hrmdoc.derived import rank_levels
from hrmdoc.detectors.pyramid import middle
from hrmdoc.run import Fact, FloatArray, Line, Run, Series
from hrmdoc.signatures import SignatureMatch
from hrmdoc.symptom import State
from hrmdoc.tracks import Rewinds, rewinds


@dataclass(frozen=True, slots=True)
class Finding:
    """How one condition stands; the fields are those of `Symptom`."""

    state: State
    role: str = ""
    metric: str = ""
    first_step: int | None = None
    last_step: int | None = None
    first_time: float | None = None
    count: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    rank: int | None = None
    missing: tuple[str, ...] = ()
    score: float | None = None


@dataclass(slots=True)
class Scene:
    """What a node may look at: the run, its canonical facts and where they stand, matched log lines, other symptoms' findings."""

    run: Run
    facts: Mapping[str, Any] = field(default_factory=dict)
    matches: Mapping[str, Sequence[tuple[Line, SignatureMatch]]] = field(default_factory=dict)
    found: Callable[[str], Finding | None] = lambda _: None
    closed: bool = False
    places: Mapping[str, Fact] = field(default_factory=dict)
    _falls: dict[int, Rewinds] = field(default_factory=dict, init=False, repr=False)

    def falls(self, series: Series) -> Rewinds:
        """Where the steps of `series` fall back; found once for all rules that look."""
        if id(series) not in self._falls:
            self._falls[id(series)] = rewinds(series.steps)
        return self._falls[id(series)]


def functions(scene: Scene) -> dict[str, Callable[..., Any]]:
    """What an expression may call on series and symptoms: `last(train.loss)`, `count(eval.loss)`, `present('loss-zero')`,
    and, without ever missing an input, `known(lora.rank)`."""

    def values_of(role: str) -> FloatArray:
        series = scene.run.best(role)
        if series is None or not len(series):
            raise expressions.MissingInput(role)
        return series.values

    def finite(role: str) -> FloatArray:
        values = values_of(role)
        values = values[np.isfinite(values)]
        if not len(values):
            raise expressions.MissingInput(role)
        return values

    def present(symptom: str) -> bool:
        finding = scene.found(symptom)
        if finding is None or finding.state == "not_evaluated":
            raise expressions.MissingInput(symptom)
        return finding.state == "present"

    def seen(symptom: str) -> bool:
        """It is present or was, whatever its inputs."""
        finding = scene.found(symptom)
        return finding is not None and finding.state in ("present", "resolved")

    def episodes(symptom: str) -> int:
        """How often it opened so far."""
        finding = scene.found(symptom)
        return 0 if finding is None else finding.count

    def peak(symptom: str) -> float:
        """The value at its strongest."""
        finding = scene.found(symptom)
        if finding is None or "peak" not in finding.values:
            raise expressions.MissingInput(symptom)
        return float(finding.values["peak"])

    def before_zero(role: str) -> float:
        """Level of the last values that are not zero, as a share of the first; infinite where all are."""
        values = np.abs(finite(role))
        nonzero = values[values > 0]
        return float(middle(nonzero[-5:]) / nonzero[0]) if len(nonzero) else math.inf

    def rises(role: str) -> float:
        """Share of the points that lie above the one before them."""
        values = finite(role)
        return float(np.mean(np.diff(values) > 0)) if len(values) > 1 else 0.0

    def opening(role: str) -> float:
        """The highest of the first three values: where a series starts, noise allowed for."""
        return float(finite(role)[:3].max())

    def jitter(role: str) -> float:
        """Usual distance between neighbouring points of the second half, as a share of their level."""
        values = finite(role)
        half = values[len(values) // 2 :]
        if len(half) < 3:
            raise expressions.MissingInput(f"more points of {role}")
        level = middle(np.abs(half))
        return middle(np.abs(np.diff(half))) / level if level > 0 else 0.0

    def count(role: str) -> int:
        series = scene.run.best(role)
        return 0 if series is None else len(series)

    def last_step(role: str) -> int:
        series = scene.run.best(role)
        if series is None or not len(series):
            raise expressions.MissingInput(role)
        return int(series.steps.max())

    def rank_ratio(role: str) -> float:
        """The highest rank's level over the median of all ranks."""
        levels = list(rank_levels(scene.run, role).values())
        if len(levels) < 3 or float(np.median(levels)) <= 0:
            raise expressions.MissingInput(f"{role} of three ranks")
        return max(levels) / float(np.median(levels))

    def rank_spread(role: str) -> float:
        """Highest minus lowest level over the median of all ranks."""
        levels = list(rank_levels(scene.run, role).values())
        if len(levels) < 2 or float(np.median(levels)) == 0:
            raise expressions.MissingInput(f"{role} of two ranks")
        return (max(levels) - min(levels)) / abs(float(np.median(levels)))

    return {
        "rank_ratio": rank_ratio,
        "rank_spread": rank_spread,
        "first": lambda role: float(finite(role)[0]),
        "last": lambda role: float(finite(role)[-1]),
        "min_of": lambda role: float(finite(role).min()),
        "max_of": lambda role: float(finite(role).max()),
        "mean_of": lambda role: float(finite(role).mean()),
        "median_of": lambda role: middle(finite(role)),
        "count": count,
        "last_step": last_step,
        "present": present,
        "seen": seen,
        "episodes": episodes,
        "peak": peak,
        "before_zero": before_zero,
        "rises": rises,
        "opening": opening,
        "jitter": jitter,
        **expressions.about(scene.facts),
    }
