"""How many steps an epoch has where records show both: a trainer that is told how many steps to make states
its epochs rounded up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.record.records import Fact
from hrmdoc.roles.values import at

if TYPE_CHECKING:
    from hrmdoc.record.run import Run

_FEWEST = 3
_SAME = 0.01


def take_pace(run: Run, found: dict[str, Fact]) -> None:
    """Adds the steps of an epoch, and takes back epochs that the planned steps do not come to."""
    shown = _length(run)
    if shown is None or "run.steps_per_epoch" in found or "data.samples" in found:
        return
    length, (file, line) = shown
    total, epochs = found.get("run.total_steps"), found.get("run.epochs")
    if total is None or epochs is None or not isinstance(total.value, int | float):
        return
    if isinstance(epochs.value, int | float) and epochs.value * length > (1 + _SAME) * total.value:
        found["run.epochs"] = at(total, "run.epochs", total.value / length)
        found["run.steps_per_epoch"] = Fact("run.steps_per_epoch", length, "run", file, line)


def _length(run: Run) -> tuple[int, tuple[str, int | None]] | None:
    """Steps of an epoch by the records that show fractions of epochs, and where the last of them stands."""
    for key, series in run.series.items():
        if key.metric.rpartition("/")[2] != "epoch" or series.axis != "step" or len(series.values) < _FEWEST:
            continue
        steps, epochs = np.asarray(series.steps), np.asarray(series.values)
        fractions = np.isfinite(epochs) & (epochs > 0) & (epochs % 1 != 0)
        if fractions.sum() < _FEWEST:
            continue
        lengths = steps[fractions] / epochs[fractions]
        if lengths[-1] >= 1 and np.ptp(lengths[-_FEWEST:]) <= _SAME * lengths[-1]:
            return round(float(lengths[-1])), series.place(-1)
    return None
