"""A curve as inline SVG: no script, no font, no network, readable in a mail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from hrmdoc.record.records import FloatArray, IntArray

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 440, 150, 50, 22, 18
COLUMNS = 400


def svg(title: str, steps: IntArray, values: FloatArray, marks: Sequence[tuple[int, str]] = ()) -> str:
    """The curve of one metric with labelled steps. `title` and labels are escaped. Empty when nothing is
    finite.

    Positive values over more than two orders of magnitude are drawn on a logarithmic axis.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return ""
    x, y = steps[finite].astype(np.float64), values[finite]
    logarithmic = bool(y.min() > 0 and y.max() / 100 > y.min())
    size = max(1.0, float(np.abs(y).max()) / 1e150)  # the span of the largest floats would overflow
    shown = np.log10(y) if logarithmic else y / size
    left, right, low, high = x.min(), max(x.max(), x.min() + 1), shown.min(), shown.max()
    span = (high - low) or max(abs(high), 1.0) * 0.1
    low, high = low - 0.05 * span, high + 0.05 * span

    def across(step: float) -> float:
        return float(LEFT + (step - left) / (right - left) * (WIDTH - LEFT - 8))

    def up(value: float) -> float:
        return float(TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM))

    px, py = _thinned(x, shown)
    path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(px, py, strict=True))
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">']
    parts.append(f'<title>{escape(title)}</title><text x="{LEFT}" y="12" class="t">{escape(title)}</text>')
    for value in (low + 0.05 * span, (low + high) / 2, high - 0.05 * span):
        label = margin_label(10**value if logarithmic else value * size)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{up(value):.1f}" y2="{up(value):.1f}" class="g"/>'
        )
        parts.append(
            f'<text x="{LEFT - 5}" y="{up(value) + 3:.1f}" class="l" text-anchor="end">{label}</text>'
        )
    for step, anchor in ((left, "start"), (right, "end")):
        parts.append(
            f'<text x="{across(step):.1f}" y="{HEIGHT - 6}" class="l" '
            f'text-anchor="{anchor}">{int(step)}</text>'
        )
    parts.append(f'<polyline points="{path}" class="c"/>' if len(px) > 1 else _dot(path))
    for row, (step, label) in enumerate(marks[:4]):
        at, height = across(min(max(step, left), right)), TOP + 10 + 11 * row
        anchor, shift = ("end", -4) if at > 0.7 * WIDTH else ("start", 4)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="m"/>')
        parts.append(
            f'<text x="{at + shift:.1f}" y="{height}" class="k" text-anchor="{anchor}">{escape(label)}</text>'
        )
    low_edge, tick = HEIGHT - BOTTOM, HEIGHT - BOTTOM - 6
    places = [across(float(step)) for step in steps[~finite][:200]]
    parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{tick}" y2="{low_edge}" class="n"/>' for at in places]
    return "".join(parts) + "</svg>"


def margin_label(value: float) -> str:
    """A number that fits the margin: `0.0525`, `1.8e-4`."""
    label = f"{value:.3g}"
    return label if len(label) <= 6 else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")


def _dot(place: str) -> str:
    x, y = place.split(",")
    return f'<circle cx="{x}" cy="{y}" r="3" class="d"/>'


def _thinned(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most two points a column: its lowest and its highest, in their order."""
    if len(x) <= 2 * COLUMNS:
        return x, y
    edges = np.linspace(0, len(x), COLUMNS + 1).astype(np.int64)
    keep = []
    for begin, end in pairwise(edges):
        keep += sorted({begin + int(y[begin:end].argmin()), begin + int(y[begin:end].argmax())})
    return x[keep], y[keep]
