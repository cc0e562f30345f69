"""A model that guesses, told by loss and accuracy together when nobody says how many classes there are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.measures.pyramid import Pyramid, WholeSeries, middle

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray

FEWEST_BLOCKS = 6
LOOSER = 5.0
SCATTER = 1.25  # an accuracy counted on few samples is this far from 1/K at most


class Guessing(WholeSeries):
    """How far a cross-entropy and the accuracy beside it are from guessing among K equal classes, for the K
    that fits best.

    Uniform guessing gives a loss of ln K and an accuracy of 1/K at once. The score is the larger of two
    relative distances over the trailing part of the run: of the loss from ln K, and a fifth of that of the
    accuracy from 1/K, since an accuracy counted on few samples scatters more; nine tenths of the blocks must
    lie within it. Judged only while the accuracy is at most about a half: a coin toss is the best that
    guessing can do.

    Args:
        share: trailing share of the run that is looked at.
        most: largest K that is tried.
    """

    NAME = "guessing"
    COLUMNS = 2

    def __init__(self, *, share: float = 0.6, most: int = 1000) -> None:
        super().__init__()
        if not 0.0 < share <= 1.0 or most < 2:
            raise ValueError("share lies in (0, 1], most is at least 2")
        self._share = share
        self._most = most

    def judge(self, blocks: Pyramid) -> float:
        width = max(1, round(self._share * blocks.count))
        if blocks.count < FEWEST_BLOCKS:
            return float("nan")
        loss, accuracy = blocks.means[-width:, 0], blocks.means[-width:, 1]
        level = middle(accuracy)
        if level > 1.0:  # in percent
            accuracy, level = accuracy / 100.0, level / 100.0
        if not 0.0 < level <= 0.55:
            return 1.0
        lowest, highest = (
            max(2, math.floor(1.0 / (level * SCATTER))),
            min(self._most, math.ceil(SCATTER / level)),
        )
        return min(
            (self._distance(loss, accuracy, k, width) for k in range(lowest, highest + 1)), default=1.0
        )

    @staticmethod
    def _distance(loss: FloatArray, accuracy: FloatArray, classes: int, width: int) -> float:
        most = max(0, math.ceil(0.9 * width) - 1)
        far = np.maximum(np.abs(loss / math.log(classes) - 1.0), np.abs(accuracy * classes - 1.0) / LOOSER)
        return float(min(np.sort(far)[most], 1.0))
