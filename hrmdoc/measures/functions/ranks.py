"""One rank against the others."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle

Levels = dict[int, float]
"""Rank -> the level of a role on it."""


@function("ranks", points=3)
def rank_ratio(levels: Levels) -> tuple[float, int] | None:
    """The highest rank's level over the median of all ranks."""
    usual = _usual(levels)
    highest = max(levels, key=lambda rank: levels[rank])
    return (levels[highest] / abs(usual), highest) if usual else None


@function("ranks", points=2)
def rank_spread(levels: Levels) -> tuple[float, int] | None:
    """Highest minus lowest level over the median of all ranks."""
    usual = _usual(levels)
    farthest = max(levels, key=lambda rank: abs(levels[rank] - abs(usual)))
    return ((max(levels.values()) - min(levels.values())) / abs(usual), farthest) if usual else None


def _usual(levels: Levels) -> float:
    return middle(np.array(list(levels.values())))
