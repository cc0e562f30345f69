"""What the single terms of a loss tell that the one curve which rules look at does not. Pure functions
over a run.

A role is read from its best series. Where a program logs each term of its loss under a name of its own
and no whole, the best of them may be the only one that is sound.
"""

from __future__ import annotations

import math
import re

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

FEWEST = 3
"""Points of a term before anything is said about it."""

STILL = 1e-4
"""Relative difference up to which values are the same: no loss of a model that learns moves so little."""

FEWEST_IDLE = 4
"""Points at which a term must have been zero before it is called idle."""

MOST_CLASSES = 20
"""Logarithms of larger numbers lie so close together that some loss is near one by chance."""

FEWEST_CLIPPED = 5
CLIPS = tuple(-math.log(10.0**-exponent) for exponent in (6, 7, 8, 9, 10, 12, 15, 16, 20))
"""What programs add inside a logarithm, or clip probabilities at, costs so much."""

_BOXES = re.compile(
    r"(?:^|[_/ .-])(?:b?box|loc|[gcd]?iou|dfl)(?:$|[_/ .-]loss|[_/ .-]reg)"
    r"|loss[_/ .-](?:\w+[_/ .-])?(?:b?box|loc|[gcd]?iou)",
    re.IGNORECASE,
)
_LOSS = re.compile(r"loss|nll|entropy", re.IGNORECASE)


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
def at_even_guess(run: Run, role: str) -> Series | None:
    """A term that lies at the logarithm of a whole number, what an even guess among as many classes
    costs, at all its points.

    None where there is none, or where no other series of the role moves by a tenth: then it is the whole
    that stands still.
    """
    found = [series for series in run.with_role(role) if len(series) >= FEWEST]
    if not any(_moves(series.values) for series in found):
        return None
    return next(
        (s for s in found if any(_all_at(s.values, math.log(n)) for n in range(2, MOST_CLASSES + 1))), None
    )


@function("run")
def idle_term(run: Run, role: str) -> Series | None:
    """A loss of no role that was exactly zero at all its points, beside the role's best series, which
    never was; else None."""
    whole = run.best(role)
    if whole is None or len(whole) < FEWEST_IDLE or not (whole.values > 0).all():
        return None
    return next(
        (s for s in run.series.values() if s is not whole and len(s) == len(whole) and _is_idle(s)), None
    )


@function("run", roles=0)
def idle_boxes(run: Run) -> Series | None:
    """One of the losses that place boxes, where all of them were exactly zero at all their points; None
    where one was not."""
    found = [series for series in run.series.values() if _BOXES.search(series.key.metric) and len(series)]
    return found[0] if found and not any(series.values.any() for series in found) else None


@function("run", roles=0)
def at_clip(run: Run) -> Series | None:
    """A loss of any role, or none, whose last values all are the logarithm of one of the `CLIPS`; None
    where there is none."""
    for series in run.series.values():
        values = series.values[-max(FEWEST_CLIPPED, len(series) // 2) :]
        if (
            len(values) >= FEWEST_CLIPPED
            and _LOSS.search(series.key.metric)
            and any(_all_at(np.abs(values), c) for c in CLIPS)
        ):
            return series
    return None


def _all_at(values: FloatArray, level: float) -> bool:
    return bool((np.abs(values - level) <= STILL * level).all())


def _is_idle(series: Series) -> bool:
    return _LOSS.search(series.key.metric) is not None and not series.values.any()


def _moves(values: FloatArray) -> bool:
    finite = values[np.isfinite(values)]
    return len(finite) > 1 and float(np.ptp(finite)) > 0.1 * float(np.abs(finite).max())
