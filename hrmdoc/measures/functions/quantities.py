"""What a metric says by its definition (`rules/quantities/`): a value that it cannot have, one that costs no
knowledge, two that stand in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.quantity import Quantity
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

FEWEST = 6
SLACK = 0.005
"""Of the width of a quantity: what rounding adds."""
COUNTS = 2.0
"""Times its highest value, from where on a name that promises a share is that of a count."""
FAMILIES = ("score", "error", "loss", "divergence", "")
LATE = 3
MOSTLY = 0.8
PERFECT = 0.001
AHEAD = 0.02
"""As a share of the larger: less, and two metrics that are in the wrong order are as good as equal."""


def _known(series: Series) -> bool:
    return series.nature.quantity is not None


def _told(series: Series) -> bool:
    quantity = series.nature.quantity
    return quantity is not None and quantity.guess is not None


def _counts_right(series: Series) -> bool:
    quantity = series.nature.quantity
    return quantity is not None and quantity.percent and quantity.lowest == 0 and quantity.guess is None


def _compared(series: Series) -> bool:
    return series.nature.above is not None


@function("families", roles=0, points=3, families=FAMILIES, among=_known)
def beyond_bounds(members: Sequence[Member]) -> Series | None:
    """A metric whose last three values are none that it can have, such as an overlap of 1.9, a negative
    perplexity or an accuracy of 121 %."""
    for one in members:
        quantity = one.series.nature.quantity
        if quantity is not None and _beyond(quantity, one.values):
            return one.series
    return None


def _beyond(quantity: Quantity, values: FloatArray) -> bool:
    late = values[-LATE:]
    shares = _shares(quantity, values)[-LATE:]
    if _in_percent(quantity, values) and (
        late.max() > COUNTS * 100.0 * quantity.highest or not (late % 1.0).any()
    ):
        return False  # a count of what was right, not its percentage
    width = quantity.highest - quantity.lowest
    slack = SLACK * width if np.isfinite(width) else SLACK
    return bool((shares < quantity.lowest - slack).all() or (shares > quantity.highest + slack).all())


def _in_percent(quantity: Quantity, values: FloatArray) -> bool:
    return quantity.percent and float(np.abs(values).max()) > 1.5 * quantity.highest


def _shares(quantity: Quantity, values: FloatArray) -> FloatArray:
    """Percents as shares."""
    return values / 100.0 if _in_percent(quantity, values) else values


def _within(quantity: Quantity, shares: FloatArray) -> bool:
    """Whether all values are such as it has; where they are not, its name is that of something else."""
    return bool(quantity.lowest - SLACK <= shares.min() and shares.max() <= quantity.highest + SLACK)


def _judged(members: Sequence[Member]) -> Iterator[tuple[Series, Quantity, float, FloatArray]]:
    """Those of held-out data, or all where no name says that it is of such: the quantity, its guess and the
    values, better upwards."""
    for one in [one for one in members if one.series.nature.held_out] or members:
        quantity = one.series.nature.quantity
        if quantity is None or quantity.guess is None:
            continue
        shares, sign = _shares(quantity, one.values), 1.0 if quantity.better == "high" else -1.0
        if _within(quantity, shares):
            yield one.series, quantity, sign * quantity.guess, sign * shares


@function("families", roles=0, points=FEWEST, families=FAMILIES, among=_told)
def knows_nothing(members: Sequence[Member]) -> Series | None:
    """A metric that ends where whoever knows nothing stands, did so for the last third of the run, and was
    never clearly better; one that is as far on the other side as knowledge would be is none."""
    for series, quantity, guess, values in _judged(members):
        late = values[-(len(values) // 3) :]
        ever, usual = guess + 2.0 * quantity.margin, guess + quantity.margin
        if quantity.reverse is not None and middle(late) <= quantity.reverse:
            continue
        if values.max() < ever and middle(late) < usual and values[-1] < usual:
            return series
    return None


@function("families", roles=0, points=2, families=FAMILIES, among=_known)
def beyond_belief(members: Sequence[Member]) -> Series | None:
    """A metric that is better than any honest result from its first value on, of two at least: texts written
    again to the word, pictures without any difference."""
    for one in members:
        quantity = one.series.nature.quantity
        if quantity is None or quantity.incredible is None:
            continue
        shares, limit = _shares(quantity, one.values), quantity.incredible
        beyond = shares >= limit if quantity.better == "high" else shares <= limit
        if beyond.all() and _within(quantity, shares):
            return one.series
    return None


@function("families", roles=0, points=3, families=FAMILIES, among=_told)
def knows_the_reverse(members: Sequence[Member]) -> Series | None:
    """A metric that is on the wrong side of a guess throughout, as far as only knowledge brings it."""
    for series, quantity, _, values in _judged(members):
        if quantity.reverse is not None and values.max() < quantity.reverse:
            return series
    return None


@function("families", roles=0, points=3, families=FAMILIES, among=_compared)
def order_reversed(members: Sequence[Member]) -> Series | None:
    """A metric that is above another one which it can never exceed, such as a top-1 accuracy above the top-5
    accuracy beside it, at four fifths of their common points."""
    named = {one.series.key.metric: one for one in members}
    for one in members:
        for wider in one.series.nature.above or ():
            if wider in named and _exceeds(one, named[wider]):
                return one.series
    return None


def _exceeds(one: Member, wider: Member) -> bool:
    if len(one.values) != len(wider.values) or one.series.key.source != wider.series.key.source:
        return False
    ahead = one.values - wider.values > AHEAD * np.abs(one.values)
    return bool(ahead.mean() >= MOSTLY and ahead[-1])


@function("run", roles=0)
def shares_beside(run: Run) -> Series | None:
    """A share of what was right, such as an accuracy, an overlap or an F1, that the run logs."""
    for series in run.series.values():
        if _counts_right(series) and len(series) >= 2:
            return series
    return None


@function("families", roles=0, points=5, families=FAMILIES, among=_told)
def perfect_from_start(members: Sequence[Member]) -> Series | None:
    """A metric of held-out data that is gauged against a guess and is within a thousandth of its best value
    at its first evaluation and at all others."""
    for series, quantity, _, values in _judged(members):
        best = quantity.highest if quantity.better == "high" else -quantity.lowest
        if series.nature.held_out and np.isfinite(best) and values.min() >= best - PERFECT:
            return series
    return None


@function("families", roles=0, points=2, families=("score", ""), among=_counts_right)
def nothing_right(members: Sequence[Member]) -> Series | None:
    """A share of what was right in held-out data which is exactly zero at every evaluation."""
    empty = [one for one in members if one.series.nature.held_out and not one.values.any()]
    return max(empty, key=lambda one: len(one.values)).series if empty else None
