"""What a run could do and can no more, and scores that no computation of a share gives: told by the family of
a series, whatever it is called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.functions.adversaries import FORGERS, JUDGES
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

TRADED = frozenset({"precision", "recall", "sensitivity", "specificity"})
"""Either of a pair rises as the other falls."""
SHARES = frozenset(
    {"acc", "accuracy", "accuracies", "f1", "f1score", "fscore", "dice", "iou", "miou", "auc", "auroc"}
    | TRADED
)
OF_TWO_NETS = JUDGES | FORGERS | {"real", "fake", "critic", "adv", "adversarial", "domain"}
"""Words of shares that are to fall to one half where training goes well."""
LOST = 0.25
"""Of all answers; so many no change of the data by a few samples takes away."""
LEFT = 0.7
NOISES = 4.0
WHOLE = 1.005
PERCENTS = 2.0


@function(
    "families",
    roles=0,
    points=10,
    families=("score",),
    among=lambda series: (TRADED | OF_TWO_NETS).isdisjoint(series.nature.words),
)
def score_lost(members: Sequence[Member]) -> Series | None:
    """A score of which a quarter of all answers, and three tenths of its best, are gone throughout the last
    third of the run; the one that lost most."""
    lost = [(_lost(one.values), one.series) for one in members]
    worst = max(lost, key=lambda pair: pair[0], default=(0.0, None))
    return worst[1] if worst[0] > 0 else None


def _lost(values: FloatArray) -> float:
    """The share of all answers that is lost for good, 0 where next to nothing is."""
    if values.min() < 0:
        return 0.0
    shares = values / 100.0 if values.max() > PERCENTS else values
    if shares.max() > WHOLE:
        return 0.0
    late = shares[-(len(shares) // 3) :]
    lost = float(shares.max() - late.max())
    noise = NOISES * middle(np.abs(np.diff(shares)))
    return lost if lost > max(LOST, noise) and late.max() < LEFT * shares.max() else 0.0


@function(
    "families",
    roles=0,
    points=5,
    families=("score",),
    among=lambda series: not SHARES.isdisjoint(series.nature.words),
)
def above_whole(members: Sequence[Member]) -> Series | None:
    """A share of what was right that is now and then above one, beside another one of the same run and unit
    that never is."""
    shares = [one for one in members if middle(one.values) > 0.2 and one.values.max() < PERCENTS]
    whole = any(one.values.max() <= WHOLE for one in shares)
    above = [one for one in shares if np.sum(one.values > WHOLE) > 1]
    return max(above, key=lambda one: float(one.values.max())).series if whole and above else None
