"""Scores that stand: the same number at nearly every evaluation, to the last digit, by whatever name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hrmdoc.measures.function import Member, function
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

FEWEST = 5
MANY = 8
"""Evaluations from which some may differ."""
MOST = 0.75
"""Share of those that must be the same."""
CEILING = 0.95
"""A score from here on repeats since hardly anything is left to be wrong."""
FALLEN = 0.9
"""A score that stands at its end counts where it lies below this share of its best."""
CARRIED = frozenset({"last", "latest", "previous", "current"})
"""Words of names under which a logger repeats an earlier evaluation."""


@function("families", roles=0, points=FEWEST, families=("score", "loss"))
def score_repeats(members: Sequence[Member]) -> Series | None:
    """A score below 0.95 that is the same to the last digit at all of its evaluations, at three quarters of
    eight and more with its first among them, or for the last third behind a better one, where all scores of
    held-out data are such and some loss moves all the while.

    Scores of three decimals or fewer, of nothing at all and of names by which loggers repeat what an earlier
    evaluation gave are not judged.
    """
    losses = [one.values for one in members if one.series.nature.family == "loss"]
    if losses and not any(map(_moves, losses)):
        return None  # no weight moves, which is another matter
    judged = _judged(members)
    if not judged or not all(_stands(_shares(one.values)) for one in judged):
        return None
    return max(judged, key=lambda one: len(one.values)).series


def _judged(members: Sequence[Member]) -> list[Member]:
    """The scores of held-out data, or all where no name says that it is of such, which may still change."""
    scores = [one for one in members if one.series.nature.family == "score"]
    scores = [one for one in scores if CARRIED.isdisjoint(one.series.nature.words)]
    held_out = [one for one in scores if one.series.nature.held_out] or scores
    return [one for one in held_out if not _settled(_shares(one.values))]


def _shares(values: FloatArray) -> FloatArray:
    """Percents as shares."""
    return values / 100.0 if values.max() > 1.5 else values


def _moves(values: FloatArray) -> bool:
    return len({*values[-FEWEST:].tolist()}) > 2  # np.unique would load numpy.ma


def _settled(values: FloatArray) -> bool:
    """Whether it is zero throughout, or ends near the ceiling."""
    return not values.any() or bool(values[-1] >= CEILING)


def _stands(values: FloatArray) -> bool:
    """Whether one number is what nearly all evaluations gave, or all of the last third."""
    usual, count = min(Counter(values.tolist()).most_common(), key=lambda pair: (-pair[1], pair[0]))
    if usual == round(usual, 3) or not 0.0 < usual < CEILING:
        return False
    if count == len(values):
        return True
    if count >= MOST * len(values) and len(values) >= MANY and values[0] == usual:
        return True
    late = values[-max(FEWEST, len(values) // 3) :]
    return bool((late == usual).all() and usual < FALLEN * values.max())
