"""The reliability diagram as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lab.metrics import Bin, wilson

SIZE, MARGIN = 300, 46


def reliability_svg(bins: Sequence[Bin]) -> str:
    """Stated probability (across) against the share that was true (up), with 95 % intervals; on the diagonal
    the two agree."""
    end = MARGIN + SIZE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{end + 20}" height="{end + 40}" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<rect x="{MARGIN}" y="20" width="{SIZE}" height="{SIZE}" fill="none" stroke="#888"/>',
        f'<line x1="{MARGIN}" y1="{_y(0)}" x2="{end}" y2="{_y(1)}" stroke="#bbb" stroke-dasharray="4 4"/>',
    ]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="{_x(tick):.0f}" y="{_y(0) + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{MARGIN - 6}" y="{_y(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>')
    for one in bins:
        parts += _mark(one)
    parts.append(
        f'<text x="{MARGIN + SIZE / 2}" y="{_y(0) + 34}" text-anchor="middle">stated probability</text>'
    )
    parts.append(
        f'<text transform="translate(12 {20 + SIZE / 2}) rotate(-90)" text-anchor="middle">share that '
        f"was true</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _mark(one: Bin) -> list[str]:
    interval = wilson(round(one.true * one.count), one.count)
    x = _x(one.stated)
    return [
        f'<line x1="{x:.1f}" y1="{_y(interval.low):.1f}" x2="{x:.1f}" y2="{_y(interval.high):.1f}" '
        f'stroke="#4878a8"/>',
        f'<circle cx="{x:.1f}" cy="{_y(one.true):.1f}" r="4" fill="#4878a8"><title>{one.count} '
        f"claims</title></circle>",
    ]


def _x(p: float) -> float:
    return MARGIN + SIZE * p


def _y(p: float) -> float:
    return 20 + SIZE * (1 - p)
