"""The one question whose answer would decide best between the leading hypotheses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.diagnosis.clues import Clue, weights
from hrmdoc.diagnosis.network import Posterior, information_gain, show_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.rulebook import Cause

LIKELY_SETS = 256
HIT_RATE, FALSE_HIT_RATE = 0.9, 0.05
"""How often a check by hand finds a cause that is at work, and how often it finds one that is not."""
DECIDED = 0.05
"""Expected information in nats below which no question is worth the trouble."""


def next_check(
    causes: Sequence[Cause], leading: Sequence[int], unseen: Sequence[Clue], posterior: Posterior
) -> str:
    """One sentence, or "" when the matter is decided.

    Candidates are the symptoms that could not be evaluated for want of an input, and the `check` of each
    leading cause. The one with the largest expected information about the set of causes at work wins; only
    the likeliest sets are looked at.

    Args:
        causes: in the order of the posterior.
        leading: indices of the causes whose own check may be proposed, most probable first.
        unseen: clues that could not be evaluated.
        posterior: over the sets of `causes`.
    """
    best = posterior.likeliest(LIKELY_SETS)
    members, weight = posterior.members[best], posterior.weight[best]
    by_hand = [index for index in leading if causes[index].check]
    missing = [clue for clue in unseen if any(_obtainable(symptom) for symptom in clue.symptoms)]
    checked = np.where(
        (members[:, :, None] == np.array(by_hand, np.int64)[None, None, :]).any(axis=1),
        HIT_RATE,
        FALSE_HIT_RATE,
    ).reshape(len(members), len(by_hand))
    leak = np.array([clue.leak for clue in missing], np.float64)
    measured = show_probability(members, weights(causes, missing), leak)
    gain = information_gain(weight, np.hstack([checked, measured]))
    if not len(gain) or gain.max() < DECIDED:
        return ""
    winner = int(np.argmax(gain))
    if winner < len(by_hand):
        return causes[by_hand[winner]].check.strip()
    return _request(missing[winner - len(by_hand)], [causes[index].title for index in leading])


def _request(clue: Clue, titles: Sequence[str]) -> str:
    symptom = next(symptom for symptom in clue.symptoms if _obtainable(symptom))
    rivals = " from ".join(f"“{title}”" for title in titles[:2])
    purpose = (
        f" helps to tell {rivals}"
        if len(titles) > 1
        else f" helps to confirm {rivals}"
        if titles
        else " decides most"
    )
    return f"Provide {', '.join(symptom.missing)}: whether “{symptom.title or symptom.id}” shows{purpose}."


def _obtainable(symptom: Symptom) -> bool:
    """It lacks roles or facts, which a person can log or state; another reason, in words, cannot be
    helped."""
    names = [name for missing in symptom.missing for name in missing.split(" or ")]
    return bool(names) and not any(" " in name for name in names)
