"""The largest rise of a series from one value to the next. The first three rises do not count: early on,
everything moves."""

from __future__ import annotations

import math

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.pyramid import middle, smooth
from hrmdoc.record.records import FloatArray


@function(points=5)
def leap(values: FloatArray) -> float:
    """The largest rise as a share of the lowest value before it; 0 where nothing rises."""
    at = _leap(values)
    lowest = float(values[: at + 1].min())
    return max(0.0, float(values[at + 1] - values[at]) / lowest) if lowest > 0 else 0.0


@function(points=5)
def leap_kept(values: FloatArray) -> float:
    """How much of the largest rise is there at the end: 1 when all, 0 when none; above 1 where the
    values went on rising."""
    at = _leap(values)
    rise = float(values[at + 1] - values[at])
    return float(values[-1] - values[at]) / rise if rise > 0 else 0.0


@function(points=5)
def leap_alone(values: FloatArray) -> float:
    """The largest rise in units of the usual distance between neighbours: a few among many like it, much
    where it stands alone."""
    at = _leap(values)
    usual = middle(np.abs(np.diff(values)))
    return float(values[at + 1] - values[at]) / usual if usual > 0 else math.inf


@function(points=5)
def back_after(values: FloatArray) -> float | None:
    """How many points behind the largest rise three quarters of it are made up for, but for single ones;
    infinite where never."""
    at = _leap(values)
    later = values[at + 1 :]
    if len(later) < 5:
        return None
    before = middle(values[max(0, at - 4) : at + 1])
    limit = before + 0.25 * float(later[0] - values[at])
    back = np.flatnonzero(smooth(later)[1:-1] <= limit)
    return float(back[0]) if len(back) else math.inf


@function(points=5)
def anew(values: FloatArray) -> float | None:
    """How unlike the first three values those behind the largest rise are, as a share of all that had
    been gained until then.

    Near 0 where the same curve begins a second time; infinite where nothing had been gained.
    """
    at = _leap(values)
    again = values[at + 1 : at + 4]
    gained = float(values[0] - values[at])
    if len(again) < 3:
        return None
    return float(np.abs(again - values[:3]).max()) / gained if gained > 0 else math.inf


def _leap(values: FloatArray) -> int:
    """The index of the value before the largest rise; shape [n], n >= 5."""
    return 3 + int(np.diff(values[3:]).argmax())
