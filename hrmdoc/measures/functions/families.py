"""What a series shows by its family alone, whatever it is called: each answers with the series that shows it
most, or None.

Roles name the few curves that rules look at closely. These look at all others: the terms of a loss, the
scores of a task, the divergence that a program logs under a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.outcome import NOISES, outcome
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

BEYOND = 100.0
"""So many times all that the first half came to, no term of a healthy loss grows."""
LARGE = 10.0
"""Nats of a divergence, or units of a loss, below which a multiple of next to nothing says nothing."""
ASTRONOMICAL = 1e6
FROM_OPENING = 1e4
ABSURD = 1e9
"""A loss of this size which does not fall has met values that no target has."""
CLIMBED = 30.0
FEWEST = 8
"""Records that show what is usual of a term."""
NOTHING = 0.015
POSITIVES = frozenset(
    {"f1", "f1score", "fscore", "recall", "precision", "sensitivity", "dice", "iou", "miou", "jaccard"}
)
"""Words of scores that count what was found of the rare, and are zero where the common is always said."""
ACCURACIES = frozenset({"acc", "accuracy", "accuracies"})
WATCHED = frozenset({"train.loss", "eval.loss", "perplexity", "eval.perplexity", "rl.kl"})
"""Roles whose explosions have rules of their own."""
OF_PAIRS = frozenset({"rejected", "chosen", "margin", "margins"})
"""Words of rewards that are compared, of which one is to fall."""
HARDLY = 0.25
"""A gain of less than this share of where a reward began is what the best of many levels gives by chance."""
LITTLE = 0.01
"""A gain of less than this share of a reward is none, even where it was kept."""
VARIED = 20


def _held_out(members: Sequence[Member]) -> Sequence[Member]:
    """Those of held-out data, or all where no name says that it is of such."""
    found = [one for one in members if one.series.nature.held_out]
    return found or members


def _most(found: Iterable[tuple[float, Series]]) -> Series | None:
    return max(found, key=lambda pair: pair[0], default=(0.0, None))[1]


def _share(values: FloatArray) -> FloatArray:
    """Percents as shares."""
    return values / 100.0 if len(values) and values.max() > 1.5 else values


@function(
    "families",
    roles=0,
    points=4,
    families=("loss", "divergence"),
    among=lambda series: series.role.role not in WATCHED,
)
def term_exploded(members: Sequence[Member]) -> Series | None:
    """A term of the loss, or a divergence, that has left all that it was and does not come back; the losses
    that other rules watch are none.

    The lowest of its last three values is a hundred times the highest of its first half, or a million and ten
    thousand times its opening, or a thousand million and no less than its first; or it has grown at every
    record, faster and faster, to thirty times where it began.
    """
    return _most((closing, one.series) for one in members if (closing := _exploded(np.abs(one.values))))


def _exploded(sizes: FloatArray) -> float:
    """The level at which an exploded series stands, 0 where it is none."""
    closing, opening = float(sizes[-3:].min()), float(sizes[:3].max())
    if closing > ABSURD and float(np.median(sizes[-3:])) > sizes[0]:
        return closing
    if len(sizes) < FEWEST:
        return 0.0
    left = closing > LARGE and closing > BEYOND * float(sizes[: len(sizes) // 2].max())
    thrown = closing > ASTRONOMICAL and closing > FROM_OPENING * opening
    return closing if left or thrown or _climbs(sizes) else 0.0


def _climbs(sizes: FloatArray) -> bool:
    """Whether each value is higher than the one before, and each third gained more than that before it: a sum
    over the run grows evenly."""
    third = len(sizes) // 3
    early, late = sizes[third], sizes[-third - 1]
    climbed = sizes[-1] > max(LARGE, CLIMBED * sizes[0]) and bool((np.diff(sizes) > 0).all())
    return climbed and bool(sizes[-1] - late > 2.0 * (late - early) and late - early > early - sizes[0])


@function(
    "families", roles=0, points=3, families=("loss", "error"), among=lambda series: series.nature.floor >= 0.0
)
def below_floor(members: Sequence[Member]) -> Series | None:
    """A loss or an error that is below zero to the end although its name says that it cannot be: a squared or
    absolute error, a distance between boxes, a cross-entropy, a rate of errors."""
    return _most((-float(one.values[-1]), one.series) for one in members if (one.values[-3:] < -1e-6).all())


@function(
    "families",
    roles=0,
    points=6,
    families=("score",),
    among=lambda series: ACCURACIES.isdisjoint(series.nature.words),
)
def scores_nothing(members: Sequence[Member]) -> Series | None:
    """A score that is next to nothing throughout, where all scores of the run are; accuracies, which are zero
    for regressions too, do not count."""
    return members[0].series if all(_is_nothing(one.values) for one in members) else None


def _is_nothing(values: FloatArray) -> bool:
    return bool(values.min() >= 0.0 and values.max() < NOTHING and values[-1] <= values[:3].max())


@function(
    "families",
    roles=0,
    points=5,
    families=("score",),
    among=lambda series: not (POSITIVES | ACCURACIES).isdisjoint(series.nature.words),
)
def never_found(members: Sequence[Member]) -> Series | None:
    """A score of what was found of the rare, such as a recall, that is zero to the end but for single hits
    beside an accuracy of 0.6 or more: one class is the answer to everything."""
    right = (_share(one.values) for one in members if not ACCURACIES.isdisjoint(one.series.nature.words))
    if not any(middle(values[-max(3, len(values) // 3) :]) >= 0.6 for values in right):
        return None
    rare = [one for one in members if not POSITIVES.isdisjoint(one.series.nature.words)]
    empty = [one.series for one in _held_out(rare) if _is_empty(one.values[-max(5, len(one.values) // 2) :])]
    return empty[0] if empty and len(empty) == len(_held_out(rare)) else None


def _is_empty(values: FloatArray) -> bool:
    return bool(middle(values) == 0.0 == values[-1] and _share(values).max() < 0.1)


@function(
    "families",
    roles=0,
    points=16,
    families=("reward",),
    among=lambda series: OF_PAIRS.isdisjoint(series.nature.words),
)
def reward_fell(members: Sequence[Member]) -> Series | None:
    """A reward that ends far below where it began, by more than its noise and by half of its size at least,
    a third where it is below zero and has no floor; it has not been at its best for a third of the run."""
    return _most(_fallen(members))


def _fallen(rewards: Iterable[Member]) -> Iterator[tuple[float, Series]]:
    for one in rewards:
        judged = outcome(one.values, "max")
        if judged is None or judged.since < 1 / 3:
            continue
        lost = judged.end - judged.opening  # turned: lower is better
        share = 0.5 if judged.opening < 0.0 else 1 / 3  # turned: a reward above zero is below it
        if lost > max(2 * NOISES * judged.noise, share * abs(judged.opening)):
            yield lost, one.series


@function(
    "families",
    roles=0,
    points=100,
    families=("reward",),
    among=lambda series: OF_PAIRS.isdisjoint(series.nature.words),
)
def reward_never_gained(members: Sequence[Member]) -> Series | None:
    """A reward that ends no higher than it began, or by a hundredth of its size, over a hundred points and
    more, and whose best level was hardly higher; one of few values, or that does not move, is none."""
    for one in members:
        judged = outcome(one.values, "max")
        if judged is None or judged.noise == 0.0:
            continue
        if judged.end < judged.opening and judged.gain > LITTLE * abs(judged.opening):
            continue
        if judged.gain < HARDLY * abs(judged.opening) and len({*one.values.tolist()}) >= VARIED:
            return one.series
    return None


@function(
    "families",
    roles=0,
    points=48,
    families=("reward",),
    among=lambda series: OF_PAIRS.isdisjoint(series.nature.words),
)
def reward_gone(members: Sequence[Member]) -> Series | None:
    """A reward that is exactly zero at four fifths of the points of its last half and at its end, and was
    something at half of those of its first third: what earned it, or lost it, is done no more."""
    for one in members:
        early, late = one.values[: len(one.values) // 3], one.values[len(one.values) // 2 :]
        if early.any() and np.mean(early == 0.0) <= 0.5 and np.mean(late == 0.0) >= 0.8 and not late[-1]:
            return one.series
    return None


@function("families", roles=0, points=12, families=("divergence",))
def code_empty(members: Sequence[Member]) -> Series | None:
    """A divergence that is next to zero for most of the run and at its end."""
    empty = (one for one in members if abs(middle(one.values)) < 1e-3 and abs(one.values[-1]) < 1e-3)
    return next((one.series for one in empty), None)
