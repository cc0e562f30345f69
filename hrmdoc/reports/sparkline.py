"""A curve in one line of text, and the column in which a step stands."""

from __future__ import annotations

import numpy as np

from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray, IntArray

BARS = "▁▂▃▄▅▆▇█"
NONFINITE = "×"
MARK = "▲"


def sparkline(values: FloatArray, width: int = 48) -> str:
    """The medians of up to `width` equal stretches of `values` as bars; `×` where a stretch holds a NaN or
    infinity.

    Falls over more than two orders of magnitude are drawn on a logarithmic scale.
    """
    stretches = np.array_split(values, min(width, len(values)) or 1)
    broken = [bool(len(s)) and not np.isfinite(s).all() for s in stretches]
    levels = np.array([middle(s[np.isfinite(s)]) if np.isfinite(s).any() else np.nan for s in stretches])
    finite = levels[np.isfinite(levels)]
    if not len(finite):
        return NONFINITE * len(stretches) if len(values) else ""
    if finite.min() > 0 and finite.max() / 100 > finite.min():
        levels, finite = np.log(levels), np.log(finite)
    size = float(np.abs(finite).max()) or 1.0  # a difference of the largest floats would overflow
    low, span = float(finite.min()) / size, float(finite.max()) / size - float(finite.min()) / size
    heights = np.zeros(len(levels)) if span == 0 else (levels / size - low) / span * (len(BARS) - 1)
    return "".join(
        NONFINITE if bad or np.isnan(height) else BARS[round(float(height))]
        for height, bad in zip(heights, broken, strict=True)
    )


def column(steps: IntArray, step: int, width: int = 48) -> int:
    """The column of a sparkline of this width in which `step` stands."""
    columns = min(width, len(steps))
    index = int(np.searchsorted(np.maximum.accumulate(steps), step)) if columns else 0
    return max(0, min(index * columns // max(len(steps), 1), columns - 1))
