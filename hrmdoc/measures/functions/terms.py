"""What the single terms of a loss tell that the one curve which rules look at does not. Pure functions
over a run.

A role is read from its best series. Where a program logs each term of its loss under a name of its own
and no whole, the best of them may be the only one that is sound.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import edges
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

FEWEST = 3
"""Points of a term before anything is said about it."""
FALLEN = 1 / 3
"""Share of its level that a term has lost before it counts as falling."""


@function("run")
def never_finite(run: Run, role: str) -> Series | None:
    """A term of the role that was no number at any of its points; None where there is none.

    A whole that is known by its name and finite says that what is no number is no part of it.
    """
    found = run.with_role(role)
    if not found or (not found[0].role.guessed and np.isfinite(found[0].values).any()):
        return None
    return next((s for s in found if len(s) >= FEWEST and not np.isfinite(s.values).any()), None)


@function("run")
def idle_beside_others(run: Run, role: str, moves: float = 0.1) -> Series | None:
    """A series that the role was guessed for and that is zero throughout while another loss moves.

    It is a term without weight, and not the loss.

    Args:
        moves: from which share of its height the range of another loss is no noise.
    """
    best = run.best(role)
    if best is None or not best.role.guessed or best.values.any():
        return None
    losses = (s for s in run.series.values() if "loss" in s.key.metric.lower() and len(s) >= FEWEST)
    return best if any(_range(series.values) > moves for series in losses) else None


@function("run")
def falls_beside(run: Run, role: str) -> Series | None:
    """Another series that the role was guessed for and that has lost a third of its level, while the best one
    is watched.

    Of several terms, none of which is named as the whole, one that stands says nothing of learning: a triplet
    loss averaged over the hard triplets alone stands while their number falls.
    """
    found = run.with_role(role)
    if not found or not found[0].role.guessed:
        return None
    return next((s for s in found[1:] if s.role.guessed and _falls(s.values)), None)


def _falls(values: FloatArray) -> bool:
    finite = values[np.isfinite(values)]
    if len(finite) < FEWEST:
        return False
    opening, end = edges(finite)
    return opening > 0 and end < (1 - FALLEN) * opening


def _range(values: FloatArray) -> float:
    """From the lowest to the highest value, as a share of the largest; 0 of fewer than two."""
    finite = values[np.isfinite(values)]
    height = float(np.abs(finite).max()) if len(finite) > 1 else 0.0
    return float(np.ptp(finite)) / height if height > 0 else 0.0
