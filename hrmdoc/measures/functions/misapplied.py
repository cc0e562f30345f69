"""What arithmetic says of a loss that is given something else than it is made for, and of one number that is
logged as two."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hrmdoc.measures.function import Curve, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray

BLOCKS = 12
SURER = 0.2
"""How much surer of the right answers a model may be than the share of them says."""
DISTINCT = 4
"""Different values that must agree to the last digit before that is no accident."""


def _late(values: FloatArray) -> float:
    return middle(values[-max(3, len(values) // 4) :])


def _twice(loss: float, right: float) -> float:
    """The K for which ln(1 + (K - 1) / e) + 1 - `right` is the loss."""
    return 1.0 + math.e * (math.exp(min(50.0, loss - (1.0 - right))) - 1.0)


def _shares(accuracies: FloatArray) -> FloatArray:
    return accuracies / 100.0 if accuracies.max() > 1.5 else accuracies


@function(roles=2, points=8)
def classes_if_twice(losses: FloatArray, accuracies: FloatArray) -> float:
    """The number of classes for which a cross-entropy of probabilities that are normalised a second time
    would come to what is logged; 0 where it could not.

    A softmax of probabilities gives the surest answer e / (e + K - 1), so that a right answer costs
    ln(1 + (K - 1) / e), a wrong one 1 more, and an even guess ln K. Between those the losses must lie, and
    where hardly an answer is right yet no lower than the guess.
    """
    shares = _shares(accuracies)
    right, classes = _late(shares), _twice(_late(losses), _late(shares))
    gained = right - float(shares[:3].min())
    learned = gained > 0.02  # the share of one class does not move
    fallen = float(losses[:3].max()) - _late(losses) > 0.5 * gained  # what becomes right costs 1 less
    if not (learned and fallen) or right < (0.8 if classes > 6 else 0.9) or classes < 2.8:
        return 0.0
    before = _twice(_late(losses[: -len(losses) // 3]), _late(shares[: -len(shares) // 3]))
    if not 0.8 * classes < before < 1.6 * classes:  # a number of classes stays what it is
        return 0.0
    highest, lowest = 1.03 * math.log(classes) + 0.02, math.log1p((math.floor(0.9 * classes) - 1.0) / math.e)
    guess = math.log(classes) - float(shares[:3].max()) - SURER
    return classes if lowest <= losses.min() and guess <= losses[:3].max() <= highest else 0.0


@function(roles=2, points=5)
def minus_probability(losses: FloatArray, accuracies: FloatArray) -> float:
    """How far the loss lies, at most, from minus the accuracy in the second half: next to nothing where the
    negative likelihood is of probabilities and not of their logarithms."""
    half = min(len(losses), len(accuracies)) // 2
    right = _shares(accuracies)
    return abs(middle(losses[-half:]) + middle(right[-half:]))


@function(points=10)
def grows_throughout(values: FloatArray) -> float:
    """How many times its beginning the end is, of a series that hardly ever comes down on its way; 1 for any
    other."""
    parts = np.array_split(values, min(BLOCKS, len(values) // 2))
    levels = np.array([middle(part) for part in parts])
    if float(np.mean(np.diff(levels) > 0)) < 0.8 or levels[0] <= 0:
        return 1.0
    return float(levels[-1] / levels[0])


@function("curve", roles=2, points=5)
def same_as(curve: Curve, other: Curve) -> float:
    """Share of the points that are, to the last digit, those of the other role at the same step; 0 where they
    hardly differ from one another either."""
    beside, known = _beside(curve, other)
    values = curve.values[known]
    if _distinct(values) < DISTINCT:
        return 0.0
    return float(np.mean(values == beside[known]))


def _beside(curve: Curve, other: Curve) -> tuple[FloatArray, NDArray[np.bool_]]:
    """For each point the last value of the other role at its step, shape [n], and whether it has one."""
    if not len(other.steps):
        return curve.values, np.zeros(len(curve.steps), np.bool_)
    if np.array_equal(curve.steps, other.steps) and bool((np.diff(other.steps) > 0).all()):
        return other.values, np.ones(len(curve.steps), np.bool_)
    order = np.argsort(other.steps, kind="stable")
    steps = other.steps[order]
    at = np.searchsorted(steps, curve.steps, side="right") - 1
    return other.values[order[at]], (at >= 0) & (steps[at] == curve.steps)


def _distinct(values: FloatArray) -> int:
    """How many different values there are; where the first hundred tell enough, no more are looked at."""
    few = len(set(values[:100].tolist()))
    if few >= DISTINCT or len(values) <= 100:
        return few
    ordered = np.sort(values)  # np.unique would load numpy.ma
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
