"""Progress bars as tqdm draws them, and Ultralytics, Ignite and NeMo after it."""

from __future__ import annotations

import re

from msgspec import Struct

from hrmdoc.readers.log.grammar.values import MOST_STEPS
from hrmdoc.text import patterns

Span = tuple[int, int]
_COUNT = r"(?P<n>\d[\d.]*[kMG]?)/(?P<total>\d[\d.]*[kMG]?)"
_BAR = patterns.lazy(
    rf"\d{{1,3}}%\|[^|]{{0,1000}}\|\s{{0,8}}{_COUNT}"
    r"\s{0,4}\[[\d:?]{1,16}<[^,\]]{1,24}(?:, {0,4}(?P<unit>[^,\]=]{0,24})(?=[,\]]|\Z))?"
    r"(?:, ?(?P<postfix>[^\]]{0,4000}))?(?P<end>\]?)"
)
"""NeMo's bar shows no rate."""
_PLAIN_BAR = patterns.lazy(
    rf"\d{{1,3}}% [━─╸╺]{{4,400}} {_COUNT}(?: {{1,4}}(?P<unit>[\d.]{{1,12}}[A-Za-z]{{1,8}}/[A-Za-z]{{1,8}}))?"
    r" {1,4}[\d:.hms]{2,16}(?:<[\d:.hms]{2,16})?(?P<postfix>)(?P<end>)"
)
"""Ultralytics' own bar: `64: 100% ━━━━━━━━━━━━ 4/4 2.3it/s 1.8s`, before the end `1.8s<0.6s`, at first
without a rate."""
_NUMBERED_BAR = patterns.lazy(
    rf"\[{_COUNT}\]\s{{1,4}}\d{{1,3}}%\|[^|\[,]{{0,400}}\|?"
    r"(?:, ?(?P<postfix>[^\[]{1,2000}?))?(?P<unit>)\s{0,8}"
    r"\[[\d:?]{1,16}<[\d:?]{1,16}(?P<end>\]?)"
)
"""Ignite's bar: `Epoch [1/3]: [4/10]  40%|████      , loss=0.73 [00:00<00:00]`."""
_STEP_UNITS = ("it/s", "s/it", "step/s", "s/step", "batch/s", "s/batch", "ba/s", "s/ba", "?")
_KINDS = (_BAR, _PLAIN_BAR, _NUMBERED_BAR)
_FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9}


class Bar(Struct, frozen=True):
    """One redraw of a bar: of steps, of other things such as images, or of bytes.

    Attributes:
        desc, postfix: what stands before and behind it, and where on the piece.
        after: what follows it there.
    """

    desc: str
    n: int
    total: int
    postfix: str
    counts_steps: bool
    counts_bytes: bool
    after: str
    places: tuple[int, int, Span, Span, Span] = (0, 0, (0, 0), (0, 0), (0, 0))


def bars_of(text: str) -> list[Bar]:
    """The bars on a piece, in order."""
    found = next((found for kind in _KINDS if (found := list(kind.finditer(text)))), [])
    return [_bar(text, found, at) for at in range(len(found))]


def _bar(text: str, found: list[re.Match[str]], at: int) -> Bar:
    match, start = found[at], found[at - 1].end() if at else 0
    desc = text[start : match.start()].strip()
    after = text[match.end() :] if at + 1 == len(found) else ""
    unit, postfix = (match["unit"] or "?").strip(), match["postfix"] or ""
    if not match["end"] and match.end() == len(text):
        postfix = postfix.rpartition(",")[0]  # a bar wider than its terminal loses its end: half a number
    return Bar(
        desc.removesuffix(":").strip(),
        count_of(match["n"]),
        count_of(match["total"]),
        postfix,
        unit.endswith(_STEP_UNITS),
        unit.endswith("B/s"),
        after,
        (text.find(desc, start), match.start("postfix"), match.span("n"), match.span("total"), match.span()),
    )


def count_of(text: str) -> int:
    factor = _FACTORS.get(text[-1])
    try:
        value = float(text[:-1] if factor else text) * (factor or 1)
        return int(value) if value < MOST_STEPS else 0
    except ValueError:
        return 0
