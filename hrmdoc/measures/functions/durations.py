"""How long something lasts, and when something will be reached: in time, not in points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.function import Curve, function
from hrmdoc.record.records import FloatArray

NEVER = 1e9
"""Seconds that stand for never, 30 years."""
STEADY = 0.9
"""Correlation with time from which on a series is on its way."""
FEWEST = 5
COVERED = 0.8
"""Share of the time that the points have to cover."""


def _clock(curve: Curve) -> FloatArray:
    """The time as of each point, shape [n]; NaN before the first that is known. It does not go back."""
    known = np.where(np.isfinite(curve.times), curve.times, -np.inf)
    clock = np.maximum.accumulate(known)
    return np.where(np.isfinite(clock), clock, np.nan)


def _lasting(curve: Curve, inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> FloatArray:
    """Seconds since it went inside without having been outside, as of each point; 0 where it is outside."""
    clock, places = _clock(curve), np.arange(len(curve.values))
    timed = (inside | outside) & np.isfinite(clock)
    last_told = np.maximum.accumulate(np.where(timed, places, -1))
    within = np.where(last_told >= 0, inside[last_told], False)
    enters = within & ~np.concatenate([[False], within[:-1]])
    began = np.maximum.accumulate(np.where(enters, places, 0))
    return np.where(np.isfinite(clock), np.where(within, clock - clock[began], 0.0), np.nan)


def _below(curve: Curve, below: float = 0.0, leave: float | None = None) -> FloatArray:
    over = below if leave is None else leave
    return _lasting(curve, curve.values < below, curve.values >= over)


def _above(curve: Curve, above: float = 0.0, leave: float | None = None) -> FloatArray:
    under = above if leave is None else leave
    return _lasting(curve, curve.values > above, curve.values <= under)


@function("curve", lacks="times", course=_below)
def seconds_below(curve: Curve, below: float = 0.0, leave: float | None = None) -> float | None:
    """For how many seconds the role has stayed low; 0 where it is not low.

    Args:
        below: under this it is low.
        leave: it is low until it comes to this again; by default until it is not below.
    """
    return _now(_below(curve, below, leave))


@function("curve", lacks="times", course=_above)
def seconds_above(curve: Curve, above: float = 0.0, leave: float | None = None) -> float | None:
    """For how many seconds the role has stayed high; 0 where it is not high.

    Args:
        above: over this it is high.
        leave: it is high until it comes down to this again; by default until it is not above.
    """
    return _now(_above(curve, above, leave))


def _spans(curve: Curve) -> FloatArray:
    clock = _clock(curve)
    known = clock[np.isfinite(clock)]
    return np.where(np.isfinite(clock), clock - known[0], 0.0) if len(known) else np.zeros(len(clock))


@function("curve", absent=0, course=_spans)
def timed(curve: Curve) -> float:
    """The seconds from the first point of the role to its last; 0 where nobody wrote down when they were."""
    return float(_spans(curve)[-1])


@function("curve", lacks="time")
def seconds_until(curve: Curve, level: float = 0.0, over: float = 600.0) -> float | None:
    """The seconds until the role comes to a level, at the rate of its last points; 1e9 where it is not on its
    way there, or not steadily.

    Args:
        level: what it may come to.
        over: the seconds until now that tell the rate; unknown before there are points for so long.
    """
    clock = _clock(curve)
    known = np.isfinite(clock) & np.isfinite(curve.values)
    times, values = clock[known], curve.values[known]
    recent = times >= times[-1] - over if len(times) else known[:0]
    times, values = times[recent], values[recent]
    if len(times) < FEWEST or times[-1] - times[0] < COVERED * over:
        return None
    passed, risen = times - times.mean(), values - values.mean()
    squares, spread = float(passed @ passed), float(risen @ risen)
    if squares <= 0 or spread <= 0:
        return NEVER
    together = float(passed @ risen)
    rate = together / squares
    left = (level - float(values[-1])) / rate if rate else NEVER
    steady = abs(together) >= STEADY * float(np.sqrt(squares) * np.sqrt(spread))
    return min(left, NEVER) if steady and left >= 0 else NEVER


def _now(course: FloatArray) -> float | None:
    return None if np.isnan(course[-1]) else float(course[-1])
