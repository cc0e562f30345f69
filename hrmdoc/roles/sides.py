"""Which part of the data a score is of that does not say it: `F1` beside `train_loss` and `val_loss`."""

from __future__ import annotations

from collections.abc import Mapping

from hrmdoc.record.series import RoleGuess
from hrmdoc.roles.names import EVAL, TRAIN, normalised, parted

_SCORES = {
    "train.accuracy": "eval.accuracy",
    "train.exact_accuracy": "eval.exact_accuracy",
    "train.score": "eval.score",
}
_AROUND = frozenset({"best", "so", "far", "top", "top1", "1", "current", "now"})


def scores_of_evaluation(roles: Mapping[str, str | None], counts: Mapping[str, int]) -> dict[str, RoleGuess]:
    """Guessed roles for scores that name no part of the data.

    Where a program says of its losses which part each is of, and of a score does not, that score is what the
    program is after: computed once an evaluation, on held-out data. Where a score does say it, those that do
    not are of the other part. And what a program keeps the best of is what it is after, too.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        counts: metric -> its points so far.
    """
    words = {name: set(normalised(parted(name)).split("_")) for name in roles}
    if any(role in _SCORES.values() for role in roles.values()):
        return {}
    open_ = [name for name, role in roles.items() if role in _SCORES and not words[name] & TRAIN]
    chosen = _as_often_as_evaluated(open_, roles, words, counts) or _of_which_best(open_, words, counts)
    return {name: RoleGuess(_SCORES[roles[name] or ""], guessed=True) for name in chosen}


def _as_often_as_evaluated(
    scores: list[str],
    roles: Mapping[str, str | None],
    words: Mapping[str, set[str]],
    counts: Mapping[str, int],
) -> list[str]:
    """Those that came with the evaluations, where the losses say which part each is of."""
    named = {
        side: [name for name, role in roles.items() if role == f"{side}.loss" and words[name] & of_side]
        for side, of_side in (("train", TRAIN), ("eval", EVAL))
    }
    if not all(named.values()):
        return []
    evaluations = max(counts.get(name, 0) for name in named["eval"])
    return [name for name in scores if abs(counts.get(name, 0) - evaluations) <= 1]


def _of_which_best(scores: list[str], words: Mapping[str, set[str]], counts: Mapping[str, int]) -> list[str]:
    """Those beside which the best of them is logged: `Accuracy: 54.7 Best_acc: 54.9`."""
    best = {
        (_kind(said), counts.get(name, 0))
        for name, said in words.items()
        if "best" in said and not said & TRAIN
    }
    return [name for name in scores if (_kind(words[name]), counts.get(name, 0)) in best]


def _kind(words: set[str]) -> frozenset[str]:
    """What a score is, whatever it is called."""
    return frozenset("acc" if word == "accuracy" else word for word in words) - _AROUND
