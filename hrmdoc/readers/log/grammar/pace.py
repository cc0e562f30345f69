"""How steps follow from epochs, by records that came together behind a bar that has gone on.

None of them belongs to the position that the bar has come to. But each has its epoch, a trainer logs every so
many steps, and the bar was drawn again for each record when it was written, wherever that was kept meanwhile.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_FEW_STRIDES, _MOST_STRIDES = 256, 4096
_ALONE = 0.02
"""How wrong an epoch's length may be by one record at the place of the bar that it came at."""


class Bar(Struct):
    """The bar of the run.

    Attributes:
        before, after: what it showed before the first record came, and after the last one.
        drawn: all that it has shown, redraw by redraw.
        given: the step of the records that were given before.
        full: so many came together that a buffer was full: as many again may be in another one.
    """

    before: int
    after: int
    drawn: Ints
    given: int = 0
    full: bool = False


class Whole(Struct):
    """The steps of a run, and its epochs where its summary told them."""

    steps: int
    epochs: float | None = None


class Pace(Struct):
    """How steps follow from epochs; what is not exact in the beginning becomes so on the way.

    Attributes:
        length: steps of an epoch.
        every: steps from one training record to the next; 0 where that is not known.
        last: the step of the newest training record.
        places, digits: to how many of them epochs are printed, behind the point or in all.
        error: how wrong `length` may be, as a part of it.
    """

    length: float
    every: int
    last: int
    places: int
    digits: int
    error: float

    def step(self, epoch: float, *, trained: bool) -> int:
        """The step of a record of training, or of an evaluation: the one that is expected, or a multiple of
        the stride, where that is as near as epochs are exact."""
        places, digits = _written(epoch)
        self.places, self.digits = max(self.places, places), max(self.digits, digits)
        exact, within = epoch * self.length, self.tolerance(epoch)
        every = self.every or 1
        likely = [(self.last // every + 1) * every if trained else self.last, every * round(exact / every)]
        if trained and not self.every:
            likely = []
        found = next((step for step in likely if step > 0 and abs(step - exact) <= within), round(exact))
        if trained:
            self.last = found
            error = self._resolution(epoch) / epoch if epoch else 1.0
            if found in likely and error < self.error:
                self.length, self.error = found / epoch, error
        return found

    def tolerance(self, epoch: float) -> float:
        """How far from the truth a step may be."""
        return 0.5 + self.length * (self._resolution(epoch) + epoch * self.error)

    def _resolution(self, epoch: float) -> float:
        return _resolution(epoch, self.places, self.digits)


def pace_of(epochs: list[float], bar: Bar, whole: Whole, *, first: bool = True) -> Pace | None:
    """The pace of training records that came together.

    Args:
        epochs: of the records, in order.
        bar: of the run.
        whole: of the run.
        first: the first record may stand at a step of its own.
    """
    if not epochs or bar.before <= 0 or epochs[-1] <= 0:
        return None
    count = len(epochs)
    places, digits = (max(each) for each in zip(*map(_written, epochs), strict=True))
    exact = np.array([_resolution(epoch, places, digits) for epoch in epochs])
    multiples = _multiples(np.array(epochs), exact) if count > 1 else None
    if multiples is None and count > 2 and first:
        return pace_of(epochs[1:], bar, whole, first=False)  # many log the first step, too
    every = _stride(multiples, float(epochs[-1]), float(exact[-1] / epochs[-1]), bar, whole)
    if multiples is None or not every:
        missed = 1 - epochs[-2] / epochs[-1] if count > 1 else _ALONE
        return Pace(bar.before / epochs[-1], 0, bar.given, places, digits, missed)
    last = every * int(multiples[-1])
    return Pace(
        last / epochs[-1],
        every,
        every * int(multiples[0] - 1),
        places,
        digits,
        float(exact[-1] / epochs[-1]),
    )


def _multiples(epochs: Floats, exact: Floats) -> Ints | None:
    """Which multiple of the same number of steps each record stands at; None where they are at none."""
    count, last = len(epochs), epochs[-1]
    stride = (last - epochs[0]) / (count - 1)
    for behind in (count, round(last / stride) if stride > 0 else 0):
        if behind < count:
            continue
        found = np.arange(behind - count + 1, behind + 1)
        parts = found / behind
        if (np.abs(epochs - parts * last) <= 1.01 * (exact + parts * exact[-1])).all():
            return found
    return None


def _stride(multiples: Ints | None, epoch: float, error: float, bar: Bar, whole: Whole) -> int:
    """The likeliest number of steps from one record to the next: those at whose multiples the bar was drawn,
    and drawn again, and that is a round one and makes whole epochs; 0 where none may be.

    Args:
        multiples: at which of them each record stands.
        epoch, error: of the last record, and how wrong that is.
        bar: of the run.
        whole: of the run.
    """
    if multiples is None:
        return 0
    last = int(multiples[-1])
    behind = last + 1 + (1.2 * len(multiples) + 1 if bar.full else 0)
    strides = np.arange(max(1, math.ceil(bar.before / behind)), bar.after // last + 1)
    drawn = bar.drawn[(bar.drawn > 0) & (bar.drawn <= bar.before)]
    if len(strides) > _FEW_STRIDES:
        strides = strides[np.isin(strides * last, drawn)]
    if not 0 < len(strides) <= _MOST_STRIDES:
        return 0
    shown, times = np.unique(drawn, return_counts=True)

    def likely(stride: int) -> float:
        length = stride * last / epoch
        own = shown % stride == 0
        ends = whole.epochs is not None and _near(length * whole.epochs, whole.steps, error)
        parts = round(whole.steps / length)
        # in nats: how far redraws set the multiples apart is counted, what the other signs weigh is chosen
        return (
            _apart(bar.before // stride, int(own.sum()), bar.before, len(shown), 0.97)
            + _apart(int(own.sum()), int((times[own] > 1).sum()), len(shown), int((times > 1).sum()), 0.5)
            + 20 * ends
            + 3 * _near(parts * length, whole.steps, error)
            - 2 * len(str(stride).rstrip("0"))
        )

    return int(max(reversed(strides.tolist()), key=likely))


def _apart(count: int, hits: int, of: int, every: int, most: float) -> float:
    """The logarithm of how likely it is that so many of some are hit, and of all of which they are a part,
    each at a rate of its own; that of the others is no higher than `most`."""
    return _likelihood(count, hits, 1.0) + _likelihood(of - count, every - hits, most)


def _likelihood(count: int, hits: int, most: float) -> float:
    rate = min(hits / count, most) if count else 0.0
    if not 0 < rate < 1:
        return 0.0
    return hits * math.log(rate) + (count - hits) * math.log1p(-rate)


def _written(epoch: float) -> tuple[int, int]:
    """To how many places behind the point an epoch is printed, and to how many digits."""
    text = f"{epoch:.12g}"
    return len(text.partition(".")[2]), len(text.replace(".", "").strip("0"))


def _resolution(epoch: float, places: int, digits: int) -> float:
    """Half a unit of the last place to which an epoch is printed."""
    scale = math.floor(math.log10(epoch)) + 1 if epoch > 0 else 0
    return 0.5 * max(10.0**-places, 10.0 ** (scale - digits))


def _near(value: float, other: float, error: float) -> bool:
    return other > 0 and abs(value - other) <= max(0.5, other * 2 * error)
