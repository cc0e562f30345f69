"""Statistics of the points before each point, cheap on a million of them and the same for every chunking.

Windows end at positions that depend on the absolute index alone: at every point while the series is shorter
than the window, at every `stride`-th point later. So a statistic is computed once a stride and the cut of the
chunks cannot matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from hrmdoc.measures.base import FloatArray, IntArray

MAD_TO_SIGMA = 1.4826  # median absolute deviation of a normal distribution -> its standard deviation
Q90_TO_SIGMA = 1.2816  # 90th percentile of a standard normal distribution


class Tail:
    """The last `keep` values of a series, so that the next chunk can look back."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._values: FloatArray = np.empty(0)
        self.seen = 0

    def peek(self, values: FloatArray) -> tuple[FloatArray, int]:
        """The kept values followed by `values`, and the absolute index of the first; nothing is taken in."""
        return np.concatenate([self._values, values]), self.seen - len(self._values)

    def join(self, values: FloatArray) -> tuple[FloatArray, int]:
        """The same, and `values` are taken in."""
        joined, first = self.peek(values)
        self.seen += len(values)
        self._values = joined[-self._keep :].copy() if self._keep else np.empty(0)
        return joined, first


def window_ends(first: int, count: int, window: int, stride: int) -> IntArray:
    """For each of the points first, first+1, ...: the absolute end (exclusive) of the window of points before
    it."""
    index = np.arange(first, first + count, dtype=np.int64)
    return np.where(index < window, index, index - (index - window) % stride)


def over_windows(
    joined: FloatArray, first: int, ends: IntArray, window: int, statistic: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """`statistic` of the (at most `window`) values before each end.

    Args:
        joined: values, of which the first has the absolute index `first`.
        ends: non-decreasing absolute ends, shape [n].
        statistic: [m, w] -> [m, k].

    Returns:
        Shape [n, k]; NaN where the window is empty.
    """
    fresh = np.concatenate([[True], ends[1:] != ends[:-1]])
    unique = ends[fresh]
    short, full = unique[unique < window], unique[unique >= window]
    parts: list[FloatArray] = []
    for end in short.tolist():
        row = joined[: end - first]
        parts.append(statistic(row[None, :]) if len(row) else np.full((1, 1), np.nan))
    if len(full):
        rows = np.lib.stride_tricks.sliding_window_view(joined, window)[full - window - first]
        parts.append(statistic(rows))
    width = max(part.shape[1] for part in parts)
    table: FloatArray = np.concatenate([np.broadcast_to(part, (len(part), width)) for part in parts])
    return np.take(table, np.cumsum(fresh) - 1, axis=0)


def median(rows: FloatArray) -> FloatArray:
    """Median of each row, shape [m, w] -> [m]; many times faster than numpy's own on small rows."""
    return _middle(np.sort(rows, axis=1))  # which is vectorised, as parting for two places is not


def _middle(ordered: FloatArray) -> FloatArray:
    """The median of rows that are in order."""
    width = ordered.shape[1]
    centre: FloatArray = 0.5 * (ordered[:, (width - 1) // 2] + ordered[:, width // 2])
    return centre


def median_column(rows: FloatArray) -> FloatArray:
    """Median of each row as a column, shape [m, w] -> [m, 1]."""
    return median(rows)[:, None]


def upper_scale(rows: FloatArray) -> FloatArray:
    """How far each row's values usually stray upwards, in units of a standard deviation; [m, w] -> [m, 1].

    The larger of the median absolute deviation and the distance to the 90th percentile, so that heavy upper
    tails (losses of small batches) count as usual.
    """
    ordered = np.sort(rows, axis=1)
    centre = _middle(ordered)
    spread = MAD_TO_SIGMA * median(np.abs(rows - centre[:, None]))
    high = min(rows.shape[1] - 1, int(0.9 * rows.shape[1]))
    tail = (ordered[:, high] - centre) / Q90_TO_SIGMA
    return np.maximum(spread, tail)[:, None]
