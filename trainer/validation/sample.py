"""A fair part of a split."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data import PuzzleData
from ..data.dataset import PuzzleSet


def shuffled(data: PuzzleData, limit: int | None, seed: int) -> PuzzleData:
    """The split with its groups in random order, so that any part of it is a fair sample; the first `limit`
    of them."""
    made = copy.copy(data)
    left = math.inf if limit is None else limit
    sets = []
    for part in data.sets:
        order = np.random.default_rng(seed).permutation(part.groups)[: int(min(left, part.groups))]
        left -= len(order)
        if len(order):
            sets.append(_taken(part, order))
    made.sets = tuple(sets)
    return made


def _taken(part: PuzzleSet, groups: NDArray[np.int64]) -> PuzzleSet:
    """The groups of a set, in that order."""
    puzzles = _spans(part.group_indices, groups)
    examples = _spans(part.puzzle_indices, puzzles)
    sizes = np.diff(part.puzzle_indices)[puzzles], np.diff(part.group_indices)[groups]
    return replace(
        part,
        inputs=part.inputs[examples],
        labels=part.labels[examples],
        puzzle_identifiers=part.puzzle_identifiers[puzzles],
        puzzle_indices=np.concatenate(([0], np.cumsum(sizes[0]))),
        group_indices=np.concatenate(([0], np.cumsum(sizes[1]))),
    )


def _spans(offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """All that lies between the offsets of each of `chosen`, one after the other."""
    return np.concatenate([np.arange(offsets[one], offsets[one + 1]) for one in chosen])
