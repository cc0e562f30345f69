"""One rank against the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle

Levels = dict[int, float]
"""Rank -> the level of a role on it."""


class Standing(NamedTuple):
    """Where a role stands on one rank.

    Attributes:
        opening: its level at first.
        level: at the end.
        scatter: the median distance of the last values from that.
        unmoved: all values are one number.
    """

    opening: float
    level: float
    scatter: float
    unmoved: bool = False


Standings = dict[int, Standing]
"""Rank -> where the role stands on it, over the same steps."""


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


@function("standings", points=3)
def rank_departed(standings: Standings) -> tuple[float, int]:
    """How far a rank lies from the others' level that had begun where they did: in tenths of that level, or
    in what is more of their scatter, their usual distance and a fiftieth of their gain. 0 where none left
    them."""
    opening = middle(np.array([one.opening for one in standings.values()]))
    level = middle(np.array([one.level for one in standings.values()]))
    distances = {rank: abs(one.level - level) for rank, one in standings.items()}
    usual = max(
        middle(np.array([*distances.values()])),
        middle(np.array([one.scatter for one in standings.values()])),
        max(0.1 * abs(level), 0.02 * abs(opening - level), 1e-12),
    )
    gone = [rank for rank, one in standings.items() if abs(one.opening - opening) <= 0.5 * distances[rank]]
    farthest = max(gone, key=lambda rank: distances[rank], default=min(standings))
    return (distances[farthest] / usual if gone else 0.0), farthest


@function("standings", points=2)
def rank_unmoved(standings: Standings) -> tuple[float, int]:
    """What part of their first level the others gained, by the median of them, while a rank showed one number
    throughout; 0 where none did. Half of the ranks or more that show zero are those of a pipeline before its
    last, which have no loss."""
    still = [rank for rank, one in standings.items() if one.unmoved]
    without = [rank for rank in still if not standings[rank].level]
    if 2 * len(without) >= len(standings):
        still = [rank for rank in still if standings[rank].level]
    others = [one for one in standings.values() if not one.unmoved and one.opening]
    if not still or len(still) > len(others):
        return 0.0, min(standings)
    return middle(np.array([(one.opening - one.level) / abs(one.opening) for one in others])), still[0]


def _usual(levels: Levels) -> float:
    return middle(np.array(list(levels.values())))
