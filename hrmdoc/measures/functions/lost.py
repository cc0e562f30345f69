"""What became of a run that names no loss for rules to look at, where its numbers end as none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrmdoc.measures.function import Curve, function
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

JUDGED = frozenset({"train.loss", "eval.loss", "rl.policy_loss", "rl.value_loss"})
"""Roles whose losses are judged one by one."""
FEWEST = 3
"""Values at the end that are no numbers."""
LONG = 20
"""Values by which a term that was a number is told from one that is logged now and then."""
SOUND = 0.8
"""Share of the values before them that are: a column that is filled now and then is not lost."""


@function("run", roles=0)
def lost_for_good(run: Run) -> Series | None:
    """A loss that ends as no number, or never was one, where no less than half of the losses do; of a log
    that names no loss, a series of no known kind that went from numbers to none for good, where half of those
    that move do. A term that was a number at `LONG` points and more is lost whatever becomes of the others.

    Losses that are known to be the whole are looked at by themselves; of a run that has one, terms alone.
    """
    series = list(run.series.values())
    return _torn(series) or _lost_together(series)


@function("curve", points=2 * FEWEST)
def lost_share(curve: Curve, least: float = LONG) -> float:
    """The share of the points that lie behind the last number, of a curve that was one nearly always before;
    0 where it still is, or is now and then.

    Args:
        least: so many numbers tell it.
    """
    sound = np.flatnonzero(np.isfinite(curve.values))
    before = int(sound[-1]) + 1 if len(sound) else 0
    if len(sound) < max(least, SOUND * before):
        return 0.0
    return 1 - before / len(curve.values)


def _torn(series: Sequence[Series]) -> Series | None:
    """The longest term that was a number for long."""
    terms = (one for one in series if one.nature.family == "loss" and one.role.role not in JUDGED)
    torn = (one for one in terms if len(one.finite) >= LONG and _lost(one, ever=True))
    return max(torn, key=len, default=None)


def _lost_together(series: Sequence[Series]) -> Series | None:
    """The longest of those that are lost, where they are half of what a run logs that names no loss."""
    if any(one.role.role in JUDGED for one in series):
        return None
    losses = [one for one in series if one.nature.family == "loss"]
    told = losses or [one for one in series if not one.nature.family and _moves(one)]
    lost = [one for one in told if _lost(one, ever=not losses)]
    return max(lost, key=len, default=None) if 2 * len(lost) >= len(told) else None


def _moves(series: Series) -> bool:
    finite = series.finite
    return len(finite) > 0 and (len(finite) < len(series) or bool(np.ptp(finite) > 0))


def _lost(series: Series, *, ever: bool) -> bool:
    """Whether the end of a series is no number; `ever`: it must have been one before, but now and then."""
    finite = np.isfinite(series.values)
    sound = np.flatnonzero(finite)
    if not len(sound):
        return not ever and len(series) >= FEWEST
    before = int(sound[-1]) + 1
    return len(series) - before >= FEWEST and len(sound) >= SOUND * before
