"""What a run is told to have come to, often by one number at its end: a report of classes, the score of a
test, the error of a solution, how often it succeeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

GUESS = 0.1
"""Balanced accuracy above chance, as a share of what there is to gain, below which answers are guesses."""
RARE = 0.5
"""As a share of the accuracy: less, and the accuracy is that of the common classes."""
WRONG = 0.5
"""Of a solution, as a share of its size: to answer nothing at all has an error of 1."""
SOLVED = frozenset({"pde", "residual", "res", "physics", "bc", "ic", "bcs", "ics", "boundary", "collocation"})
"""Words of the terms by which a net is made to solve an equation; `f` beside `u`, `i` or `b` are the same."""
FIELD = frozenset("uvwpq")
LITTLE = 0.07
RIGHT = (frozenset({"acc", "accuracy", "score"}), frozenset({"f1", "f1score"}))
"""Words of scores that can be compared."""
_SIDES = frozenset(
    """
    train training val valid vali validation dev eval evaluation test testing set final
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
APART = 2.0
"""Nats."""
KEPT = 0.8
_TOLD = 2
"""A score of so many points is told at the end; a longer one is a curve."""
_CURVE = 5


def _share(values: FloatArray) -> FloatArray:
    return values / 100.0 if values.max() > 1.5 else values


@function(
    "families",
    roles=0,
    points=1,
    families=("score",),
    among=lambda series: {"adjusted", "balanced"} <= set(series.nature.words),
)
def answers_as_guessed(members: Sequence[Member]) -> Series | None:
    """A balanced accuracy, adjusted for chance, that ends next to nothing: each class is found as often as by
    a guess."""
    return next((one.series for one in members if one.values[-1] < GUESS), None)


@function(
    "families",
    roles=0,
    points=1,
    families=("score",),
    among=lambda series: "report" in series.nature.words,
)
def rare_missed(members: Sequence[Member]) -> Series | None:
    """The balanced accuracy of a report, less than half of the accuracy beside it, which is high: what is
    right is so by the frequent classes."""
    balanced = [one for one in members if "balanced" in one.series.nature.words]
    right = [one for one in members if "macro" not in one.series.nature.words and one not in balanced]
    for one, other in zip(balanced, right, strict=False):
        if other.values[-1] >= 0.8 and GUESS <= one.values[-1] < RARE * other.values[-1]:
            return one.series
    return None


@function("families", roles=0, points=1, families=("error", "loss", ""))
def solution_wrong(members: Sequence[Member]) -> Series | None:
    """The error of a solution, told at the end, that is half of the size of what is sought or more, where the
    terms of the loss are those of an equation that a net solves."""
    terms = _words(one for one in members if one.series.nature.family != "error")
    losses = _words(one for one in members if one.series.nature.family == "loss")
    if SOLVED.isdisjoint(terms) and not ("f" in losses and losses & {"u", "i", "b"}):
        return None
    told = (one for one in members if one.series.nature.family == "error" and _of_solution(one))
    return next((one.series for one in told if one.values[-1] >= WRONG), None)


def _words(members: Iterable[Member]) -> set[str]:
    return {word for one in members for word in one.series.nature.words}


def _of_solution(one: Member) -> bool:
    """Whether an error is relative: that of a field, by the habit of such programs, or so called."""
    words = set(one.series.nature.words)
    called = not words.isdisjoint({"relative", "rel"}) and float(one.values[-1]) < 2.0  # not in percents
    return called or (len(words) == 2 and not words.isdisjoint(FIELD))


@function(
    "families",
    roles=0,
    points=5,
    families=("score",),
    among=lambda series: "success" in series.nature.words,
)
def hardly_succeeds(members: Sequence[Member]) -> Series | None:
    """A share of successes of less than seven in a hundred at every one of five evaluations and more."""
    shares = [one for one in members if one.values.min() >= 0.0 and one.values.max() <= 1.0]
    return next((one.series for one in shares if one.values.max() < LITTLE), None)


@function("families", roles=0, points=1, families=("score",))
def tested_far_below(members: Sequence[Member]) -> Series | None:
    """A score of a test, told at the end, far below that of the validation, which is a curve; without one,
    far below that of the training set, told beside it, of which nearly all is right."""
    for test in members:
        if "test" not in test.series.nature.words or len(test.values) > _TOLD:
            continue
        told = float(_share(test.values)[-1])
        beside = list(_beside(test, members))
        curves = [middle(_share(one.values)[-3:]) for one in beside if _validates(one)]
        if any(told < min(0.8 * level, level - 0.15) for level in curves):
            return test.series
        trained = [float(_share(one.values)[-1]) for one in beside if _told_of_training(one)]
        if not curves and any(level >= 0.95 and told < level - 0.3 for level in trained):
            return test.series
    return None


def _beside(test: Member, members: Sequence[Member]) -> Iterator[Member]:
    """Scores of the same sort, of the same thing: of several models each has its own."""
    words = set(test.series.nature.words)
    sort = next((one for one in RIGHT if one & words), frozenset())
    for one in members:
        others = set(one.series.nature.words)
        if one is not test and sort & others and others - sort - _SIDES == words - sort - _SIDES:
            yield one


def _validates(one: Member) -> bool:
    """Whether a series is a curve of held-out data, of one run: of several nobody says whose the test is."""
    nature, whole = one.series.nature, len(one.values) == len(one.series)
    return nature.held_out and "test" not in nature.words and whole and len(one.values) >= _CURVE


def _told_of_training(one: Member) -> bool:
    return not {"train", "training"}.isdisjoint(one.series.nature.words) and len(one.values) <= _TOLD


@function("run", roles=0)
def test_loss_apart(run: Run) -> Series | None:
    """A loss of the test, told once or twice at the end, that lies two nats and more above the highest loss
    of the last third of the validation, and is its double at least."""
    best = run.best("eval.loss")
    if best is None or len(best) < _CURVE or _of_test(best):
        return None
    late = best.finite[-max(2, len(best) // 3) :]
    for series in run.series.values():
        told = series.nature.family == "loss" and _of_test(series) and len(series) <= _TOLD
        if told and series.nature.words[-1] in ("loss", "nll", "ce") and len(series.finite):
            last = float(series.finite[-1])
            if last > float(late.max()) + APART and last > 2.0 * float(late.max()) > 0.0:
                return series
    return None


def _of_test(series: Series) -> bool:
    return not {"test", "testing"}.isdisjoint(series.nature.words)


@function("run", roles=0)
def best_kept_elsewhere(run: Run, kept: float = -1) -> Series | None:
    """A score of held-out data whose evaluation nearest to the step that was kept as the best gave less than
    0.8 of the best that was measured.

    Args:
        kept: the step, or the epoch where those are counted.
    """
    for series in run.series.values():
        if series.nature.family != "score" or not series.nature.held_out or len(series) < _CURVE:
            continue
        away = np.abs(series.steps - kept)
        near = away.min() <= 0.5 * float(np.median(np.abs(np.diff(series.steps))))
        if near and 0.0 <= float(series.values[away.argmin()]) < KEPT * float(series.finite.max()):
            return series
    return None
