"""A column of numbers that grows, and takes no room while it says nothing: a rate that stays, a time that is
never told, the number of a line where every line is a row."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int64, np.float64)


class Column(Generic[Number]):
    """Numbers in order of arrival, at amortised constant cost.

    While each is the same as the one before, to the bit, or above it by the same stride, only the first is
    kept.

    Args:
        dtype: int64 or float64.
        strides: which strides need no array.
    """

    __slots__ = ("_dtype", "_first", "_kept", "_stride", "_strides")

    def __init__(self, dtype: type[Number], strides: tuple[int, ...] = (0,)) -> None:
        self._dtype: type[Number] = dtype
        self._strides = strides
        self._first: NDArray[Number] = np.empty(0, dtype)
        self._stride: int | None = None
        """None while there is one number at most."""
        self._kept: NDArray[Number] | None = None

    def extend(self, size: int, block: NDArray[Any]) -> None:
        """Puts `block`, one number at least, behind the first `size`; what stood there is over."""
        new: NDArray[Number] = np.asarray(block, self._dtype)
        if not size:
            self._first, self._stride, self._kept = new[:1].copy(), None, None
        if self._kept is None:
            if self._goes_on(size, new):
                return
            self._kept = self._spelled_out(size, size + len(new))
        if size + len(new) > len(self._kept):
            self._kept = _grown(self._kept, size, max(3 * len(self._kept) // 2, size + len(new)))
        self._kept[size : size + len(new)] = new

    def _goes_on(self, size: int, new: NDArray[Number]) -> bool:
        """Whether `new` goes on as the column began."""
        bits, first = new.view(np.int64), int(self._first.view(np.int64)[0])
        if self._stride is None:
            if size + len(new) < 2:
                return True
            stride = int(bits[1 - size]) - first
            if stride not in self._strides:
                return False
            self._stride = stride
        last = first + self._stride * (size + len(new) - 1)
        if int(bits[-1]) != last:
            return False
        begin = first + self._stride * size
        expected = np.arange(begin, last + 1) if self._stride else first
        return bool((bits == expected).all())

    def _spelled_out(self, size: int, capacity: int) -> NDArray[Number]:
        kept: NDArray[Number] = np.empty(max(16, capacity), self._dtype)
        kept[:size] = self.first(size)
        return kept

    def first(self, size: int) -> NDArray[Number]:
        """The first `size`; not to be written to."""
        if self._kept is not None:
            return self._kept[:size]
        if not size or not self._stride:
            return np.broadcast_to(self._first, size) if size else self._first[:0]
        begin = int(self._first[0])
        return np.arange(begin, begin + self._stride * size, self._stride, dtype=self._dtype)

    def at(self, index: int, size: int) -> float:
        """One of the first `size`; a negative index counts from their end."""
        if self._kept is not None or not self._stride:
            return float(self.first(size)[index])
        return int(self._first[0]) + self._stride * (index if index >= 0 else index + size)

    def copy(self, size: int) -> Column[Number]:
        """A column of its own that begins with the first `size`."""
        own = Column(self._dtype, self._strides)
        own._first, own._stride = self._first, self._stride
        own._kept = None if self._kept is None else self._kept[:size].copy()
        return own


def _grown(old: NDArray[Number], size: int, capacity: int) -> NDArray[Number]:
    """An array of `capacity` items that begins with the first `size` of `old`."""
    new: NDArray[Number] = np.empty(capacity, old.dtype)
    new[:size] = old[:size]
    return new
