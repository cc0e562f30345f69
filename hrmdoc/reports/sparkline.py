"""A curve in one line of text, and the steps at which something happened under it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrmdoc.run import FloatArray, IntArray

BARS = "▁▂▃▄▅▆▇█"
NONFINITE = "×"
MARK = "▲"


def sparkline(values: FloatArray, width: int = 48) -> str:
    """The medians of up to `width` equal stretches of `values` as bars; `×` where a stretch holds a NaN or infinity.

    Falls over more than two orders of magnitude are drawn on a logarithmic scale.
    """
    stretches = np.array_split(values, min(width, len(values)) or 1)
    broken = [bool(len(s)) and not np.isfinite(s).all() for s in stretches]
    levels = np.array([np.median(s[np.isfinite(s)]) if np.isfinite(s).any() else np.nan for s in stretches])
    finite = levels[np.isfinite(levels)]
    if not len(finite):
        return NONFINITE * len(stretches) if len(values) else ""
    if finite.min() > 0 and finite.max() / finite.min() > 100:
        levels, finite = np.log(levels), np.log(finite)
    low, span = float(finite.min()), float(finite.max() - finite.min())
    heights = np.zeros(len(levels)) if span == 0 else (levels - low) / span * (len(BARS) - 1)
    return "".join(
        NONFINITE if bad or np.isnan(height) else BARS[round(float(height))] for height, bad in zip(heights, broken, strict=True)
    )


def marks(steps: IntArray, at: Sequence[int], width: int = 48) -> str:
    """A line of blanks with a mark under each step of `at`, to stand below a sparkline of the same width."""
    columns = min(width, len(steps))
    line = [" "] * columns
    for step in at:
        index = int(np.searchsorted(steps, step))
        if columns:
            line[min(index * columns // max(len(steps), 1), columns - 1)] = MARK
    return "".join(line).rstrip()
