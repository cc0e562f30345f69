"""An accuracy below what the loss beside it allows."""

from __future__ import annotations

import math

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle

FEWEST_BLOCKS = 4


class AccuracyFloor(WholeSeries):
    """How far the accuracy lies below the least that a cross-entropy of this size allows, over the last
    quarter of the run.

    A sample that is not classified rightly gives its class a probability of a half at most and costs ln 2 at
    least. So at most loss / ln 2 of all samples are wrong (Markov's inequality): an accuracy below 1 - loss /
    ln 2 cannot come from the same predictions. Values above 1 are read as percent, so that one counted
    several times over falls below as well.
    """

    NAME = "accuracy_floor"
    COLUMNS = 2

    def __init__(self) -> None:
        super().__init__()

    def judge(self, blocks: Pyramid) -> float:
        if blocks.count < FEWEST_BLOCKS:
            return float("nan")
        recent = blocks.means[-max(2, blocks.count // 4) :]
        loss, accuracy = middle(recent[:, 0]), middle(recent[:, 1])
        if loss < 0 or accuracy < 0:
            return 0.0
        return max(1.0 - loss / math.log(2.0) - (accuracy / 100.0 if accuracy > 1.0 else accuracy), 0.0)
