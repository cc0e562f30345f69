"""A chart as inline SVG: no script, no font, no network, readable in a mail.

Values under the pointer are shown by style sheets alone: each column of the chart is a group whose parts
become visible while it is pointed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from hrmdoc.record.records import FloatArray, IntArray
from hrmdoc.reports.axis import Axis, of_steps, of_values, step_label

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 176, 46, 8, 22, 30
COLUMNS = 200
"""Columns in which a long curve is gathered: the median as a line, lowest and highest as a band."""
HOVER = 48
"""Columns that tell their value."""
RADIUS = 7.5
GAPS = 200
"""Values that are not finite, each with a tick at the lower edge."""


@dataclass(frozen=True, slots=True)
class Line:
    """One run's curve. `style` is `run`, `healed`, `twin` or `other`; `label` names it among others."""

    steps: IntArray
    values: FloatArray
    style: str = "run"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A step at which something begins. `severity` gives its colour; the number stands in the legend, too."""

    step: int
    number: int
    severity: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things stand in the picture."""

    across: Axis
    up: Axis

    def x(self, step: float) -> float:
        return LEFT + self.across.share(step) * (WIDTH - LEFT - RIGHT)

    def y(self, shown: float) -> float:
        return TOP + (1.0 - self.up.share(shown)) * (HEIGHT - TOP - BOTTOM)


def svg(
    title: str,
    lines: Sequence[Line],
    marks: Sequence[Mark] = (),
    *,
    unit: str = "step",
    logarithmic: bool | None = None,
    window: tuple[float, float] | None = None,
) -> str:
    """The curves of one metric over each other; the first is the run in question. Empty when nothing of it is
    finite.

    Args:
        title: the metric, escaped here as are the labels.
        unit: what the axis counts.
        logarithmic: None decides by the values.
        window: first and last step to show; None shows all.
    """
    shown = [line for line in (_inside(line, window) for line in lines) if len(line.values)]
    finite = [line.values[np.isfinite(line.values)] for line in shown]
    if not any(len(one) for one in finite):
        return ""
    every = np.concatenate([line.steps for line in shown])
    first, last = window or (float(every.min()), float(every.max()))
    frame = _Frame(of_steps(first, last), of_values(np.concatenate(finite), logarithmic=logarithmic))
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" '
        f'data-first="{first:.0f}" data-last="{last:.0f}" data-log="{int(frame.up.logarithmic)}" '
        f'aria-label="{escape(described(title, shown[0], unit), quote=True)}">',
        *_grid(frame, unit),
        *(part for line in reversed(shown) for part in _drawn(line, frame)),
        *_marks([mark for mark in marks if first <= mark.step <= last], frame),
        *_gaps(shown[0], frame),
        *_hover(shown, frame, unit),
        "</svg>",
    ]
    return "".join(parts)


def described(title: str, line: Line, unit: str) -> str:
    """The curve in a sentence, for those who do not see it."""
    finite = np.isfinite(line.values)
    if not finite.any():
        return f"{title}: no finite value"
    values, steps = line.values[finite], line.steps[finite]
    low, high = int(values.argmin()), int(values.argmax())
    broken = int((~finite).sum())
    return (
        f"{title}: {values[0]:.4g} at {unit} {int(steps[0]):,}, "
        f"{values[-1]:.4g} at {unit} {int(steps[-1]):,}; "
        f"lowest {values[low]:.4g} at {int(steps[low]):,}, highest {values[high]:.4g} at {int(steps[high]):,}"
        + (f"; {broken:,} not finite" if broken else "")
    )


def _inside(line: Line, window: tuple[float, float] | None) -> Line:
    if window is None:
        return line
    inside = (line.steps >= window[0]) & (line.steps <= window[1])
    return Line(line.steps[inside], line.values[inside], line.style, line.label)


def _grid(frame: _Frame, unit: str) -> Iterator[str]:
    for at, label in frame.up.ticks():
        y = frame.y(at)
        yield f'<path class="g" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text class="l e" x="{LEFT - 6}" y="{y + 4:.1f}">{label}</text>'
    low = HEIGHT - BOTTOM
    yield f'<path class="a" d="M{LEFT} {low}H{WIDTH - RIGHT}"/>'
    ticks = [at for at, _ in frame.across.ticks() if float(at).is_integer()] or [frame.across.low]
    for at in ticks:
        yield f'<text class="l m" x="{frame.x(at):.1f}" y="{low + 14}">{step_label(at)}</text>'
    yield f'<text class="l e" x="{WIDTH - RIGHT}" y="{HEIGHT - 3}">{escape(unit)}</text>'


def _drawn(line: Line, frame: _Frame) -> Iterator[str]:
    """One curve; where it has more points than columns, its medians over a band from lowest to highest."""
    finite = np.isfinite(line.values)
    if frame.up.logarithmic:
        finite &= line.values > 0
    steps, shown = line.steps[finite], frame.up.shown(line.values[finite])
    style = f'class="c {line.style}"'
    if len(steps) == 1:
        yield f'<circle {style} cx="{frame.x(steps[0]):.1f}" cy="{frame.y(shown[0]):.1f}" r="3"/>'
    elif len(steps) <= 2 * COLUMNS:
        yield f'<polyline {style} points="{_points(frame, steps, shown)}"/>'
    elif len(steps):
        x, low, middle, high = _gathered(steps, shown)
        band = f"{_points(frame, x, high)} {_points(frame, x[::-1], low[::-1])}"
        yield f'<polygon class="b {line.style}" points="{band}"/>'
        yield f'<polyline {style} points="{_points(frame, x, middle)}"/>'


def _points(frame: _Frame, x: FloatArray | IntArray, y: FloatArray) -> str:
    return " ".join(f"{frame.x(a):.1f},{frame.y(b):.1f}" for a, b in zip(x, y, strict=True))


def _gathered(steps: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of each column the middle step, and the lowest, the median and the highest value."""
    edges = np.linspace(0, len(steps), COLUMNS + 1).astype(np.int64)
    rows = [
        (float(steps[(a + b) // 2]), values[a:b].min(), float(np.median(values[a:b])), values[a:b].max())
        for a, b in pairwise(edges)
    ]
    x, low, middle, high = np.array(rows).T
    return x, low, middle, high


def _marks(marks: Sequence[Mark], frame: _Frame) -> Iterator[str]:
    """A dashed line each with a number above it, numbers of near steps beside each other: in print and to the
    colour-blind the number is what counts."""
    free = 0.0
    for mark in sorted(marks, key=lambda one: (one.step, one.number)):
        x = frame.x(mark.step)
        at = max(x, free)
        free = at + 2 * RADIUS + 1
        yield (
            f'<g class="k {mark.severity}"><path d="M{x:.1f} {TOP - 6}V{HEIGHT - BOTTOM}"/>'
            f'<circle cx="{at:.1f}" cy="{TOP - 12}" r="{RADIUS}"/>'
            f'<text class="m" x="{at:.1f}" y="{TOP - 8.2}">{mark.number}</text></g>'
        )


def _gaps(line: Line, frame: _Frame) -> Iterator[str]:
    """A tick at the lower edge for each value that is not finite."""
    low = HEIGHT - BOTTOM
    broken = line.steps[~np.isfinite(line.values)]
    places = sorted({round(frame.x(float(step)), 1) for step in broken})[:GAPS]
    if places:
        yield f'<path class="n" d="{"".join(f"M{x} {low - 8}V{low}" for x in places)}"/>'


def _hover(lines: Sequence[Line], frame: _Frame, unit: str) -> Iterator[str]:
    """Bands across the chart, each with a line, a dot and the values, shown while it is pointed at."""
    line = lines[0]
    order = np.argsort(line.steps, kind="stable")
    steps, values = line.steps[order], line.values[order]
    chosen = _characteristic(steps, values, frame)
    low = HEIGHT - BOTTOM
    edges = [LEFT, *((frame.x(steps[a]) + frame.x(steps[b])) / 2 for a, b in pairwise(chosen)), WIDTH - RIGHT]
    for index, (left, right) in zip(chosen, pairwise(edges), strict=True):
        step, value = int(steps[index]), float(values[index])
        x = frame.x(step)
        drawn = np.isfinite(value) and (value > 0 or not frame.up.logarithmic)
        y = frame.y(float(frame.up.shown(np.array([value]))[0])) if drawn else low
        others = [(one.label, _near(one, step)) for one in lines[1:]]
        beside = "".join(f"  {label} {near:.4g}" for label, near in others if near is not None)
        said = escape(f"{unit} {step:,}: {value:.5g}{beside}")
        yield (
            f'<g class="h" data-step="{step}">'
            f'<path class="z" d="M{left:.1f} 0H{right:.1f}V{low}H{left:.1f}"/>'
            f'<path d="M{x:.1f} {TOP}V{low}"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
            f'<text x="{LEFT}" y="{HEIGHT - 3}">{said}</text></g>'
        )


def _characteristic(steps: IntArray, values: FloatArray, frame: _Frame) -> list[int]:
    """At most `HOVER` points, of each column the one that stands out: not finite, or farthest from the
    middle."""
    if len(steps) <= HOVER:
        places = [0]
        for index in range(1, len(steps)):  # of points upon each other the last
            places = places if frame.x(steps[index]) - frame.x(steps[places[-1]]) >= 1 else places[:-1]
            places.append(index)
        return places
    width = (frame.across.high - frame.across.low) / HOVER
    columns = np.minimum(((steps - frame.across.low) / width).astype(np.int64), HOVER - 1)
    found = []
    for column in np.unique(columns):
        members = np.flatnonzero(columns == column)
        inside = values[members]
        finite = np.isfinite(inside)
        if not finite.all():
            found.append(int(members[~finite][0]))
        else:
            scale = max(1.0, float(np.abs(inside).max()))
            found.append(int(members[np.abs(inside / scale - np.median(inside / scale)).argmax()]))
    return found


def _near(line: Line, step: int) -> float | None:
    """The value that another curve has at a step, None beyond its ends."""
    order = np.argsort(line.steps, kind="stable")
    steps = line.steps[order]
    if not steps[0] <= step <= steps[-1]:
        return None
    index = int(np.searchsorted(steps, step))
    before = max(0, index - 1)
    nearest = before if step - steps[before] < steps[index] - step else index
    return float(line.values[order][nearest])
