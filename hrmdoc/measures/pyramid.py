"""A whole series in at most 64 blocks, at constant cost a point.

Blocks hold 2**k points each and start at multiples of their length. When 64 are full, neighbours merge in
pairs and the block length doubles. Which points share a block depends on their absolute index alone, so every
chunking gives the same blocks. A judgement of all blocks is due when a block is complete (later: every second
one), that is about 16 log2(n) times.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.measures.base import Detector, FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCKS = 64
SORTED = 1024  # shorter arrays are sorted sooner than they are parted
DENSE = 32  # up to so many blocks, each one brings a judgement; later every second
NEXT = 4  # the next judgement is due within so many blocks, two of twice the size after a merge


class Pyramid:
    """Block means, in-block variances and last steps of a series with one or two columns.

    Attributes:
        size: points a block holds.
        count: complete blocks.
    """

    def __init__(self, columns: int) -> None:
        self.size = 1
        self.count = 0
        self._columns = columns
        self._means: FloatArray = np.zeros((BLOCKS, columns))
        self._variances: FloatArray = np.zeros((BLOCKS, columns))
        self._steps: IntArray = np.zeros(BLOCKS, np.int64)
        self._partial: FloatArray = np.empty((1, columns))
        self._filled = 0

    @property
    def means(self) -> FloatArray:
        """Mean of each complete block, shape [count, columns]."""
        return self._means[: self.count]

    @property
    def variances(self) -> FloatArray:
        """Variance inside each complete block, shape [count, columns]."""
        return self._variances[: self.count]

    @property
    def steps(self) -> IntArray:
        """Last step of each complete block, shape [count]."""
        return self._steps[: self.count]

    def feed(self, steps: IntArray, values: FloatArray) -> Iterator[int]:
        """Takes in points, shape [n] and [n, columns], and yields each index at which a judgement is due."""
        position = 0
        if self.size == 1:
            position = min(BLOCKS - self.count, len(values))
            yield from self._single(steps[:position], values[:position])
        while position < len(values):
            if self._filled or self.size > len(values) - position:
                taken = min(self.size - self._filled, len(values) - position)
                self._partial[self._filled : self._filled + taken] = values[position : position + taken]
                self._filled += taken
                position += taken
                if self._filled == self.size:
                    self._filled = 0
                    yield from self._complete(
                        self._partial, steps[position - 1 : position], position - self.size
                    )
                continue
            count = min(BLOCKS - self.count, (len(values) - position) // self.size)
            own = slice(position, position + count * self.size)
            position = own.stop
            yield from self._complete(values[own], steps[own][self.size - 1 :: self.size], own.start)

    @property
    def _due(self) -> bool:
        """Whether the block that was completed last brings a judgement."""
        return self.count <= DENSE or self.count % 2 == 0

    def _single(self, steps: IntArray, values: FloatArray) -> Iterator[int]:
        """The same for points that are a block each, of which there are no more than fit."""
        own = slice(self.count, self.count + len(values))
        self._means[own], self._steps[own] = values, steps
        for index in range(len(values)):
            self.count += 1
            if self._due:
                yield index
        if self.count == BLOCKS:
            self._merge()

    def _complete(self, values: FloatArray, steps: IntArray, begin: int) -> Iterator[int]:
        """Adds the blocks that these points fill, shape [blocks * size, columns], of which there are no more
        than fit; yields as `feed` does.

        Args:
            values: the points.
            steps: the last step of each block.
            begin: the index of the first point.
        """
        size, first = self.size, self.count
        blocks = values.reshape(-1, size, self._columns)
        own = slice(first, first + len(blocks))
        means = np.add.reduce(blocks, axis=1) / size  # what mean() gives, at a third of its price
        self._means[own] = means
        self._variances[own] = np.add.reduce((blocks - means[:, None]) ** 2, axis=1) / size
        self._steps[own] = steps
        for number in range(1, len(blocks) + 1):
            self.count = first + number
            if self._due:
                yield begin + number * size - 1
        if self.count == BLOCKS:
            self._merge()

    def _merge(self) -> None:
        half = BLOCKS // 2
        left, right = self._means[0::2], self._means[1::2]
        spread = 0.25 * (left - right) ** 2  # Chan, Golub and LeVeque: the variance of two equal halves
        self._variances[:half] = 0.5 * (self._variances[0::2] + self._variances[1::2]) + spread
        self._means[:half] = 0.5 * (left + right)
        self._steps[:half] = self._steps[1::2]
        self.count = half
        self.size *= 2
        self._partial = np.empty((self.size, self._columns))


class WholeSeries(Detector):
    """Base of detectors that judge the whole history: `judge` looks at the blocks, its score holds until the
    next judgement."""

    def __init__(self) -> None:
        self._pyramid = Pyramid(self.COLUMNS)
        self._held = np.nan

    def score(self, steps: IntArray, values: FloatArray) -> FloatArray:
        scores = np.empty(len(values))
        begin = 0
        for index in self._pyramid.feed(steps, values.reshape(len(values), self.COLUMNS)):
            scores[begin:index] = self._held
            begin = index
            if index + NEXT * self._pyramid.size < self.unasked:
                continue  # the next judgement is due before a score is asked for
            self._held = self.judge(self._pyramid)
        scores[begin:] = self._held
        return scores

    @abstractmethod
    def judge(self, blocks: Pyramid) -> float:
        """The score given all complete blocks (at least one); NaN when it is too early."""


def middle(values: FloatArray) -> float:
    """The median, shape [n] with n > 0. On short arrays numpy's own costs several times more, and it loads
    masked arrays."""
    half = len(values) // 2
    ordered = values.copy()
    if len(ordered) < SORTED:
        ordered.sort()
    else:
        ordered.partition((half - 1, half))
    return float(ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half]))


def smooth(values: FloatArray) -> FloatArray:
    """Median of each value and its two neighbours; the ends stay. Shape [n] -> [n]."""
    if len(values) < 3:
        return values
    left, centre, right = values[:-2], values[1:-1], values[2:]
    inner = np.maximum(np.minimum(left, centre), np.minimum(np.maximum(left, centre), right))
    return np.concatenate([values[:1], inner, values[-1:]])


def noise(values: FloatArray) -> float:
    """Standard deviation of the noise on a smooth curve, from second differences (Gasser and others 1986).
    Shape [n]."""
    if len(values) < 3:
        return float(np.ptp(values)) if len(values) else 0.0
    bends = np.abs(values[2:] - 2.0 * values[1:-1] + values[:-2])
    return 1.4826 * middle(bends) / math.sqrt(6.0)


def edges(values: FloatArray) -> tuple[float, float]:
    """Where a series starts and where it stands: medians of its first and last eighth, three blocks each at
    least."""
    width = max(3, len(values) // 8)
    return middle(values[:width]), middle(values[-width:])
