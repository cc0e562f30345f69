"""Which other run is laid over a sick one: the one that was healed of it, or the healthy run most like it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hrmdoc.analysis import Analysis
from hrmdoc.reports.compare import differences
from hrmdoc.reports.verdict import SICK

CANDIDATES = 4
"""Healthy runs of one folder that are looked at, the nearest in time first."""
MOST_DIFFERENT = 8
"""Settings in which twins may differ; beyond that their curves say nothing of each other."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A run to lay over another one. `style`: `healed` began after the other had ended, `twin` is healthy as
    well, `other` is what the user asked for."""

    analysis: Analysis
    style: Literal["healed", "twin", "other"]
    name: str = ""

    @property
    def label(self) -> str:
        """What it is called beside its values."""
        said = {"healed": "healed", "twin": "healthy twin", "other": self.name or "other run"}
        return said[self.style]


def companion(analysis: Analysis, others: Sequence[Analysis]) -> Companion | None:
    """The healthy run among `others` that differs least in its settings; None where the run is not sick, or
    no healthy one of its folder, framework and kind is near."""
    if analysis.verdict not in SICK:
        return None
    near = sorted((one for one in others if _alike(analysis, one)), key=lambda one: _apart(analysis, one))
    ranked = [(_different(analysis, one), number, one) for number, one in enumerate(near[:CANDIDATES])]
    fit = min((one for one in ranked if one[0] <= MOST_DIFFERENT), default=None, key=lambda one: one[:2])
    return None if fit is None else companion_of(analysis, fit[2])


def companion_of(analysis: Analysis, other: Analysis, name: str = "") -> Companion:
    """Another run by what it is to the first; only a healthy one that is much like it is its twin."""
    mine, theirs = analysis.situation, other.situation
    unlike = (mine.framework, mine.kind) != (theirs.framework, theirs.kind)
    if unlike or other.verdict in SICK or analysis.verdict not in SICK:
        return Companion(other, "other", name)
    return Companion(other, "healed" if _began(other) >= analysis.run.last_time else "twin", name)


def _alike(analysis: Analysis, other: Analysis) -> bool:
    mine, theirs = analysis.situation, other.situation
    return (
        other is not analysis
        and other.verdict in ("healthy", "info")
        and (mine.framework, mine.kind) == (theirs.framework, theirs.kind)
        and os.path.dirname(os.path.abspath(analysis.run.path))
        == os.path.dirname(os.path.abspath(other.run.path))
    )


def _different(analysis: Analysis, other: Analysis) -> int:
    return sum(one.section == "config" for one in differences(analysis, other))


def _apart(analysis: Analysis, other: Analysis) -> float:
    apart = abs(_began(other) - _began(analysis))
    return apart if math.isfinite(apart) else math.inf


def _began(analysis: Analysis) -> float:
    """Unix time of the first record of its progress; NaN where none is known."""
    series = analysis.run.progress
    return float(series.times[0]) if series is not None else math.nan
