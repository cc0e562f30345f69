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


def scores_of_evaluation(roles: Mapping[str, str | None], counts: Mapping[str, int]) -> dict[str, RoleGuess]:
    """Guessed roles for scores that name no part of the data.

    Where a program says of its losses which part each is of, and of a score does not, that score is what the
    program is after: computed once an evaluation, on held-out data. Where a score does say it, those that do
    not are of the other part.

    Args:
        roles: metric -> its role by its name, of those of which the user says nothing.
        counts: metric -> its points so far.
    """
    words = {name: set(normalised(parted(name)).split("_")) for name in roles}
    named = {
        side: [name for name, role in roles.items() if role == f"{side}.loss" and words[name] & of_side]
        for side, of_side in (("train", TRAIN), ("eval", EVAL))
    }
    if not all(named.values()) or any(role in _SCORES.values() for role in roles.values()):
        return {}
    evaluations = max(counts.get(name, 0) for name in named["eval"])
    return {
        name: RoleGuess(_SCORES[role], guessed=True)
        for name, role in roles.items()
        if role in _SCORES and not words[name] & TRAIN and abs(counts.get(name, 0) - evaluations) <= 1
    }
