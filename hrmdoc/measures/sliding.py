"""Medians of short windows that slide from point to point, all windows at once: a network of comparisons
takes the first values of all windows as one array, the second ones as another, and so on."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hrmdoc.measures.trailing import median

if TYPE_CHECKING:
    from hrmdoc.measures.base import FloatArray

WIDEST = 12
"""Wider windows are sorted one by one, which costs less from there on."""


class _Comparison(NamedTuple):
    """Two places, and whether the lower value is asked for behind it, in the first, and the higher, in the
    second."""

    first: int
    second: int
    lower: bool
    higher: bool


def sliding_median(values: FloatArray, window: int) -> FloatArray:
    """The median of each `window` values in a row; shape [n] -> [n - window + 1], n >= window."""
    if window > WIDEST:
        return median(np.lib.stride_tricks.sliding_window_view(values, window))
    count = len(values) - window + 1
    places = [values[at : at + count] for at in range(window)]
    for first, second, lower, higher in _network(window):
        one, other = places[first], places[second]
        if lower:
            places[first] = np.minimum(one, other)
        if higher:
            places[second] = np.maximum(one, other)
    centre: FloatArray = 0.5 * (places[(window - 1) // 2] + places[window // 2])
    return centre


@cache
def _network(width: int) -> tuple[_Comparison, ...]:
    """The comparisons of Batcher's odd-even merge sort (1968) on which the middle of `width` values
    depends."""
    needed = {(width - 1) // 2, width // 2}
    kept: list[_Comparison] = []
    for first, second in reversed(list(_merges(width))):
        if not needed.isdisjoint((first, second)):
            kept.append(_Comparison(first, second, first in needed, second in needed))
            needed |= {first, second}
    return tuple(reversed(kept))


def _merges(width: int) -> chain[tuple[int, int]]:
    """All comparisons that sort, in their order."""
    powers = [1 << bit for bit in range(width.bit_length()) if 1 << bit < width]
    return chain.from_iterable(
        _merge(width, length, apart) for length in powers for apart in reversed(powers) if apart <= length
    )


def _merge(width: int, length: int, apart: int) -> list[tuple[int, int]]:
    """The comparisons of places `apart` from one another in merging sorted stretches of `length`."""
    firsts = (
        begin + at
        for begin in range(apart % length, width - apart, 2 * apart)
        for at in range(min(apart, width - begin - apart))
    )
    return [
        (first, first + apart) for first in firsts if first // (2 * length) == (first + apart) // (2 * length)
    ]
