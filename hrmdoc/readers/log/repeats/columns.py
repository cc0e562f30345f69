"""What many lines of one shape hold, by column: numbers, ranks and times as arrays, and not as strings.

A number of up to fifteen digits is an integer that a float holds exactly, times or through a power of ten
that is held exactly as well: one rounding, so that the result is what `float` makes of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hrmdoc.readers.log.repeats.layout import Layout

if TYPE_CHECKING:
    from hrmdoc.readers.log.lines.clocks import Clocks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MOST_DIGITS = 15
_OF_EPOCH = 10
"""Digits of the seconds since 1970."""
_SMALL = 64
"""Lines of which so few are as soon read from their text."""
_POWERS = np.array([10.0**power for power in range(23)])
_UNTOLD = -math.inf
_TENS = np.array([10**power for power in range(19)], np.int64)
_FORM = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d*)(?:\.(?P<part>\d*))?(?:[eE](?P<minus>[-+]?)(?P<power>\d+))?"
)


class Form(Struct, frozen=True):
    """How the numbers in one place of a shape are written: which of their runs of digits are what.

    Attributes:
        sign: what stands before them.
        whole, part, power: numbers of their runs on the line; None for what is not there.
        shrinks: the exponent is negative.
    """

    sign: str
    whole: int | None
    part: int | None
    power: int | None
    shrinks: bool

    @property
    def counts(self) -> bool:
        """Whether they are digits and nothing else."""
        return self.part is None and self.power is None and not self.sign


def form_of(text: str, first: int) -> Form | None:
    """The form of the numbers that are written as `text` is, whose first run is `first`; None for one that
    nobody knows."""
    found = _FORM.fullmatch(text)
    if found is None or not (found["whole"] or found["part"]):
        return None
    runs: dict[str, int | None] = {}
    for name in ("whole", "part", "power"):
        runs[name] = first if found[name] else None
        first += bool(found[name])
    return Form(found["sign"], runs["whole"], runs["part"], runs["power"], found["minus"] == "-")


class Columns:
    """Columns of some lines of one shape.

    Args:
        data, raw: the bytes of the block.
        starts, ends: where in them each run of digits starts and ends, shape [runs].
        base: number of the first run of each line, shape [lines].
    """

    def __init__(self, data: bytes, raw: NDArray[np.uint8], starts: Ints, ends: Ints, base: Ints) -> None:
        self._data, self._raw, self._starts, self._ends, self._base = data, raw, starts, ends, base
        self._known: dict[int, tuple[Ints, Ints]] = {}

    def whole(self, run: int) -> tuple[Ints, Ints]:
        """The integers of a run and how many digits they have, -1 for more than a float holds; each of shape
        [lines]."""
        known = self._known.get(run)
        if known is None:
            known = self._known[run] = self._read(run)
        return known

    def _read(self, run: int) -> tuple[Ints, Ints]:
        at = self._base + run
        ends = self._ends[at]
        sizes = ends - self._starts[at]
        most = int(sizes.max(initial=0))
        values = np.zeros(len(at), np.int64)
        if most > _MOST_DIGITS:
            sizes = np.where(sizes > _MOST_DIGITS, -1, sizes)
            most = _MOST_DIGITS
        least = int(sizes.min(initial=most))
        for place in range(most, 0, -1):
            digit = self._raw[ends - place].astype(np.int64) - 48
            values *= 10
            values += digit if place <= least else np.where(sizes >= place, digit, 0)
        return values, sizes

    def floats(self, form: Form) -> Floats:
        """The numbers of a form, shape [lines]; those of more digits than a float holds exactly are read one
        by one."""
        mantissa, digits = self._run(form.whole)
        part, places = self._run(form.part)
        power, figures = self._run(form.power)
        exact = (digits >= 0) & (places >= 0) & (figures >= 0) & (digits + places <= _MOST_DIGITS)
        if form.part is not None:
            mantissa = mantissa * _TENS[np.clip(places, 0, _MOST_DIGITS)] + part
        exponent = (-power if form.shrinks else power) - places
        exact &= np.abs(exponent) < len(_POWERS)
        scale = _POWERS[np.clip(np.abs(exponent), 0, len(_POWERS) - 1)]
        values = mantissa.astype(np.float64)
        if form.power is None:
            values /= scale
        else:
            values = np.where(exponent < 0, values / scale, values * scale)
        if not exact.all():
            values[~exact] = self._one_by_one(form, self._base[~exact])
        return -values if form.sign == "-" else values

    def _one_by_one(self, form: Form, base: Ints) -> list[float]:
        """The numbers of lines whose runs begin with these without their signs, from their text."""
        runs = [run for run in (form.whole, form.part, form.power) if run is not None]
        starts, ends = self._starts[base + runs[0]] - (form.whole is None), self._ends[base + runs[-1]]
        data = self._data
        return [float(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def _run(self, run: int | None) -> tuple[Ints, Ints]:
        if run is None:
            nothing = np.zeros(len(self._base), np.int64)
            return nothing, nothing
        return self.whole(run)

    def times(
        self, layout: Layout, rows: Ints, clocks: Clocks, piece: Callable[[int], bytes]
    ) -> tuple[Floats, Bools]:
        """When the lines were written, Unix seconds or NaN, and which of these times are known.

        Args:
            layout: of the shape.
            rows: numbers of the lines in their block.
            clocks: what is known of clocks.
            piece: gives the bytes of a line by its number.
        """
        if layout.clock is None:
            return np.full(len(rows), math.nan), np.ones(len(rows), np.bool_)
        first, last = layout.clock
        times, exact = self._clock(first, last, layout.tick, partial(self._minute, rows, clocks, piece))
        if layout.fraction is not None:
            part, places = self.whole(layout.fraction)
            exact &= places >= 0
            times += part / _POWERS[np.clip(places, 0, _MOST_DIGITS)]
        return times, exact & ~np.isnan(times)  # what is no time may be no stamp

    def _clock(
        self, first: int, last: int, tick: int, minute: Callable[[int, str], float]
    ) -> tuple[Floats, Bools]:
        """The same of the clocks between two runs."""
        seconds, digits = self.whole(last)
        if first == last:
            return seconds.astype(np.float64), digits == _OF_EPOCH
        begin, end = self._starts[self._base + first], self._ends[self._base + last]
        exact = (digits == 2) & (seconds < 60) & (end - begin == end[0] - begin[0])
        times = self._minutes(begin, int(end[0] - begin[0]), minute)
        exact &= times != _UNTOLD
        return times + tick * seconds, exact

    def _minutes(self, begin: Ints, size: int, minute: Callable[[int, str], float]) -> Floats:
        """The beginnings of the minutes whose clocks stand at some places, worked out once where one follows
        its like; shape [lines]."""
        reach = np.minimum(begin[:, None] + np.arange(size), len(self._raw) - 1)
        text = self._raw[reach]
        differs = (text[1:, : max(size - 2, 0)] != text[:-1, : max(size - 2, 0)]).any(axis=1)
        fresh = np.concatenate(([True], differs))
        found = [minute(at, text[at].tobytes().decode("latin-1")) for at in np.flatnonzero(fresh).tolist()]
        minutes: Floats = np.array(found)[np.cumsum(fresh) - 1]
        return minutes

    @staticmethod
    def _minute(rows: Ints, clocks: Clocks, piece: Callable[[int], bytes], at: int, clock: str) -> float:
        whole = clocks.minute(clock, partial(piece, int(rows[at])))
        return _UNTOLD if whole is None else whole
