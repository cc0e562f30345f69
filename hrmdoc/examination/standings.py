"""Where a role stands on each rank, at first and at the end, so that one which leaves the others can be told.

Ranks are compared over the same steps: one that began elsewhere, or ended long before the others, has
another part of the curve, which lies where it should.
"""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.functions.ranks import Standing
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

FEWEST = 12
"""Points of a rank."""
_PART = 4
"""A head and a tail are so many-th parts of a curve each."""
_MOST = 50
"""Points of a head or a tail."""
_NEAR = 0.05
"""Of the steps of the run: how far from the first and the last one a rank may begin and end."""


def standings(run: Run, role: str) -> dict[int, Standing]:
    """The standing of each rank that logged `role` from about the first step to about the last."""
    found = {rank: series for rank, series in run.of_ranks(role).items() if len(series) >= FEWEST}
    if len(found) < 2:
        return {}
    first = min(int(series.steps[0]) for series in found.values())
    last = max(int(series.steps[-1]) for series in found.values())
    slack = _NEAR * (last - first)
    whole = {
        rank: series
        for rank, series in found.items()
        if series.steps[0] <= first + slack and series.steps[-1] >= last - slack
    }
    end = min((int(series.steps[-1]) for series in whole.values()), default=last)
    stood = {rank: _standing(series, end) for rank, series in whole.items()}
    return {rank: standing for rank, standing in stood.items() if standing is not None}


def _standing(series: Series, end: int) -> Standing | None:
    """Where a series stands up to the step `end`; None where it has too few finite values for that."""
    count = min(_MOST, len(series) // _PART)
    head, tail = series.values[:count], series.values[-2 * count :]
    tail = tail[series.steps[-2 * count :] <= end][-count:]
    head, tail = head[np.isfinite(head)], tail[np.isfinite(tail)]
    if len(head) < FEWEST // _PART or len(tail) < FEWEST // _PART:
        return None
    level = middle(tail)
    unmoved = bool(tail[0] == head[0]) and bool((series.values == head[0]).all())
    return Standing(middle(head), level, middle(np.abs(tail - level)), unmoved=unmoved)
