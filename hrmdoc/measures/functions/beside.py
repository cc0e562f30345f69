"""What scores do beside a loss: weights that move, and weights that learn what is asked, move both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

FEWEST = 4
"""Evaluations from which it counts that none was better than the first."""
REPEATED = 5
"""Evaluations from which it counts that all are the same: a loss that stands beside them says it, too."""
MANY = 8
"""Evaluations from which a gain of a fifth of next to nothing is none."""
SINKING = 6
SUNK = 0.6
FALLEN = 0.7
"""Share of its opening to which a loss that has taught something falls."""
LOW = 0.4
CEILING = 0.95
WHOLE = 0.9995
STANDS = 0.02
COSTS = 0.7
"""A mean of the answers' costs that leaves no room for answers that are all right: ln 2 for each."""
OTHERS = frozenset({"last", "latest", "previous", "current", "best", "train", "training"})
"""Words of scores that repeat another one, or that are not of held-out data."""


@function("families", roles=0, points=FEWEST, families=("score", "loss"))
def nothing_moves(members: Sequence[Member]) -> Series | None:
    """A score between 0 and 0.95 that is the same at all of five evaluations or more, as all scores of the
    run are, beside a training loss whose last third is where its first one was, within a fiftieth."""
    losses, scores = _losses(members), _scores(members, REPEATED)
    if not losses or not all(_stands(values) for values in losses):
        return None
    same = [one for one in scores if one.values.min() == one.values.max()]
    if not scores or len(same) < len(scores) or not any(0.0 < _last(one) < CEILING for one in same):
        return None
    return max(same, key=lambda one: len(one.values)).series


@function("families", roles=0, points=FEWEST, families=("score", "loss"))
def scores_gain_nothing(members: Sequence[Member]) -> Series | None:
    """A low score that no evaluation brought above its first one, as all scores of the run are, while the
    training loss lost three tenths of itself or more; of eight evaluations a fifth more is no gain either, or
    whatever stays below 0.015. Scores that are zero throughout are not judged."""
    losses, scores = _losses(members), _scores(members, FEWEST)
    if not losses or not all(_falls(values) for values in losses) or not scores:
        return None
    if not all(_gains_nothing(_shares(one.values)) for one in scores):
        return None
    return max(scores, key=lambda one: len(one.values)).series


@function("families", roles=0, points=FEWEST, families=("score", "loss"))
def scores_sink(members: Sequence[Member]) -> Series | None:
    """A score that was best in the first third of six evaluations or more and ends below three fifths of
    that, as all scores of the run do, while the training loss ends no lower than it began."""
    losses, scores = _losses(members), _scores(members, SINKING)
    if not losses or not all(_closing(values) > 0.99 * _opening(values) > 0 for values in losses):
        return None
    if not scores or not all(_sinks(one.values) for one in scores):
        return None
    return max(scores, key=lambda one: len(one.values)).series


@function("families", roles=0, points=REPEATED, families=("score", "loss"))
def right_from_start(members: Sequence[Member]) -> Series | None:
    """A score that is 1 at each evaluation from the first one on, while the training loss begins above 1,
    falls by a fifth or more, and ends above what half of the probability for each right answer costs."""
    losses, scores = _losses(members), _scores(members, REPEATED)
    whole = [one for one in scores if (_shares(one.values) >= WHOLE).all()]
    if not whole or not losses:
        return None
    costly = all(_opening(one) > 1.0 and COSTS < _closing(one) < 0.8 * _opening(one) for one in losses)
    return whole[0].series if costly else None


def _losses(members: Iterable[Member]) -> list[FloatArray]:
    """The training loss, by all sources that log it; a held-out one where nothing else is a loss."""
    losses = [one for one in members if one.series.nature.family == "loss"]
    trained = [one for one in losses if one.series.role.role == "train.loss" and not one.series.role.guessed]
    return [one.values for one in trained or losses]


def _scores(members: Iterable[Member], fewest: int) -> list[Member]:
    """The scores of held-out data, or all where no name says that it is of such."""
    scores = [one for one in members if one.series.nature.family == "score" and len(one.values) >= fewest]
    scores = [one for one in scores if OTHERS.isdisjoint(one.series.nature.words)]
    return [one for one in scores if one.series.nature.held_out] or scores


def _shares(values: FloatArray) -> FloatArray:
    """Percents as shares."""
    return values / 100.0 if values.max() > 1.5 else values


def _last(member: Member) -> float:
    return float(_shares(member.values)[-1])


def _opening(values: FloatArray) -> float:
    return middle(values[: max(1, len(values) // 24)])


def _closing(values: FloatArray) -> float:
    return float(values[-1]) if len(values) < MANY else middle(values[-max(3, len(values) // 4) :])


def _stands(values: FloatArray) -> bool:
    third = max(2, len(values) // 3)
    before, after = middle(values[:third]), middle(values[-third:])
    return bool(before > 0 and abs(after - before) <= STANDS * before)


def _falls(values: FloatArray) -> bool:
    return 0 <= _closing(values) <= FALLEN * _opening(values) and float(values[-1]) < float(values[0])


def _sinks(values: FloatArray) -> bool:
    best = int(values.argmax())
    return bool(values[best] > 0 and best <= len(values) // 3 and _closing(values) < SUNK * values[best])


def _gains_nothing(shares: FloatArray) -> bool:
    first, best = float(shares[0]), float(shares.max())
    if shares.min() < 0.0 or not 0.0 < best <= LOW:
        return False
    return best <= first or (len(shares) >= MANY and best <= max(1.2 * first, 0.015))
