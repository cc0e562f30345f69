"""Axes of a chart: which scale, which ticks, how their numbers are spelt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hrmdoc.record.records import FloatArray

LARGEST = 1e150
"""Beyond it differences of floats overflow: such values are drawn as a share of the largest."""
ORDERS = 2.0
"""Positive values over more orders of magnitude are drawn on a logarithmic axis."""
MARGIN = 0.06
"""Share of the span that is left free above and below."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: what is drawn is `shown(value)`, from `low` at its beginning to `high` at its end."""

    low: float
    high: float
    logarithmic: bool = False
    size: float = 1.0

    def shown(self, values: FloatArray) -> FloatArray:
        """Values as they are drawn: their logarithm, or their share of `size`."""
        return np.asarray(np.log10(values) if self.logarithmic else values / self.size)

    def share(self, shown: float) -> float:
        """Where a drawn value stands between the two ends, 0 to 1 for those that lie between them."""
        return (shown - self.low) / (self.high - self.low)

    def ticks(self, most: int = 4) -> list[tuple[float, str]]:
        """Round values inside the axis, as they are drawn, each with its label."""
        if self.logarithmic and self.high - self.low >= 1.5:
            stride = math.ceil((self.high - self.low) / (most + 1))
            decades = range(math.ceil(self.low), math.floor(self.high) + 1, stride)
            return [(float(one), margin_label(10.0**one)) for one in decades]
        step = _round_step((self.high - self.low) / most)
        found = np.arange(math.ceil(self.low / step), math.floor(self.high / step) + 1) * step
        values = [10.0**one if self.logarithmic else one * self.size for one in found]
        digits = max(0, -math.floor(math.log10(step)))
        plain = not self.logarithmic and self.size == 1.0
        return [
            (float(at), _decimal(value, digits) if plain else margin_label(value))
            for at, value in zip(found, values, strict=True)
        ]


def of_values(values: FloatArray, *, logarithmic: bool | None = None) -> Axis:
    """The axis for finite values. `logarithmic`: None decides by the values; it needs positive ones."""
    positive = bool(values.min() > 0)
    wide = positive and bool(values.max() / 10**ORDERS > values.min())
    by_log = wide if logarithmic is None else logarithmic and positive
    biggest = float(np.abs(values).max())
    axis = Axis(0.0, 1.0, by_log, biggest if biggest > LARGEST else 1.0)
    shown = axis.shown(values)
    low, high = float(shown.min()), float(shown.max())
    span = (high - low) or max(abs(high), 1.0) * 0.1
    return Axis(low - MARGIN * span, high + MARGIN * span, by_log, axis.size)


def of_steps(first: float, last: float) -> Axis:
    """The axis for steps from `first` to `last`."""
    return Axis(first, max(last, first + 1))


def _round_step(rough: float) -> float:
    """The next step of 1, 2, 5 or 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _decimal(value: float, digits: int) -> str:
    """With as many decimals as the steps between the ticks need."""
    value = value + 0.0  # no minus before a zero
    label = f"{value:,.{digits}f}"
    return label if len(label) <= 7 else margin_label(value)


def margin_label(value: float) -> str:
    """A number that fits the margin: `0.0525`, `1.8e-4`."""
    label = f"{value:.3g}"
    if len(label) <= 6:
        return label
    return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def step_label(step: float) -> str:
    """A count of steps that fits under an axis: `1,200`, `120k`, `1.5M`."""
    if abs(step) < 100_000:
        return f"{int(step):,}"
    return f"{step / 1e6:.4g}M" if abs(step) >= 1_000_000 else f"{step / 1e3:.4g}k"
