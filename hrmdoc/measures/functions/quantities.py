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
    lowest, highest = quantity.lowest, quantity.highest
    if quantity.percent and (percents := 100.0 * highest) and values.max() > 1.5 * highest:
        lowest, highest = 100.0 * lowest, percents
        if late.max() > COUNTS * highest or not (late % 1.0).any():
            return False
    slack = SLACK * (highest - lowest) if np.isfinite(highest - lowest) else SLACK
    return bool((late < lowest - slack).all() or (late > highest + slack).all())


def _as_shares(quantity: Quantity, values: FloatArray) -> FloatArray:
    """Percents as shares, and better upwards."""
    if quantity.percent and float(np.abs(values).max()) > 1.5 * quantity.highest:
        values = values / 100.0
    return values if quantity.better == "high" else -values


def _within(quantity: Quantity, values: FloatArray) -> bool:
    """Whether all values, better upwards, are such as it has; where they are not, its name is that of
    something else."""
    low, high = (
        (quantity.lowest, quantity.highest)
        if quantity.better == "high"
        else (-quantity.highest, -quantity.lowest)
    )
    return bool(values.min() >= low - SLACK and values.max() <= high + SLACK)


def _judged(members: Sequence[Member]) -> Iterator[tuple[Series, Quantity, float, FloatArray]]:
    """Those of held-out data, or all where no name says that it is of such: the quantity, its guess and the
    values, better upwards."""
    for one in [one for one in members if one.series.nature.held_out] or members:
        quantity = one.series.nature.quantity
        if quantity is not None and quantity.guess is not None:
            guess = quantity.guess if quantity.better == "high" else -quantity.guess
            yield one.series, quantity, guess, _as_shares(quantity, one.values)


@function("families", roles=0, points=FEWEST, families=FAMILIES, among=_told)
def knows_nothing(members: Sequence[Member]) -> Series | None:
    """A metric that ends where whoever knows nothing stands, did so for the last third of the run, and was
    never clearly better; one that is as far on the other side as knowledge would be is none."""
    for series, quantity, guess, values in _judged(members):
        late = values[-(len(values) // 3) :]
        ever, usual = guess + 2.0 * quantity.margin, guess + quantity.margin
        if quantity.reverse is not None and middle(late) <= quantity.reverse:
            continue
        if values.max() < ever and middle(late) < usual and values[-1] < usual and _within(quantity, values):
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
        values = _as_shares(quantity, one.values)
        limit = quantity.incredible if quantity.better == "high" else -quantity.incredible
        if values.min() >= limit and _within(quantity, values):
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
        quantity = series.nature.quantity
        if quantity is not None and quantity.percent and quantity.guess is None and len(series) >= 2:
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


@function("families", roles=0, points=2, families=("score", ""), among=lambda series: _counts_right(series))
def nothing_right(members: Sequence[Member]) -> Series | None:
    """A share of what was right in held-out data which is exactly zero at every evaluation."""
    empty = [one for one in members if one.series.nature.held_out and not one.values.any()]
    return max(empty, key=lambda one: len(one.values)).series if empty else None


def _counts_right(series: Series) -> bool:
    quantity = series.nature.quantity
    return quantity is not None and quantity.percent and quantity.lowest == 0 and quantity.guess is None
