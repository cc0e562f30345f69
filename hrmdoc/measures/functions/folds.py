"""What the folds of a cross-validation tell of each other."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

LOWER, LAST = 0.75, 0.5
"""Of where the first fold began: what all others stay below, and the last of them."""
NEAR = 1.3


@function("run")
def folds_go_on(run: Run, role: str) -> Series | None:
    """The best series of a role, such as the training loss, of which each fold of a cross-validation begins
    where the fold before it ended, clearly below where the first began."""
    series = run.best(role)
    named = {event.detail for event in run.events.of("launch") if "fold" in event.detail.lower()}
    if series is None or len(named) < 2:
        return None
    starts = 1 + np.flatnonzero((np.diff(series.steps) < 0) & (series.steps[1:] <= series.steps[0]))
    openings, endings = series.values[starts], series.values[starts - 1]
    if not len(starts) or openings[-1] >= LAST * series.values[0]:
        return None
    goes_on = (openings < LOWER * series.values[0]) & (openings <= NEAR * endings)
    return series if bool(goes_on.all()) else None
