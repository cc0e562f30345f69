"""Steps that are printed in thousands: `step:2K`, as LeRobot does from the thousandth on. What was left out
follows from those before, as long as the log keeps its stride."""

from __future__ import annotations

import re

from hrmdoc.readers.log.grammar.position import Flow
from hrmdoc.text import patterns

_ROUNDED = patterns.lazy(
    r"(?<![\w./-])((?:global[ _]?)?(?:step|iter|iteration)s?\s?[:=]\s{0,4})"
    r"(\d{1,9}(?:\.\d{1,3})?)([KM])(?=[\s,|;]|\Z)",
    re.IGNORECASE,
)
_UNITS = {"K": 1_000, "M": 1_000_000}


def written_out(text: str, flow: Flow) -> str:
    """The line with its step in full; other lines as they are."""
    if "K" not in text and "k" not in text and "M" not in text:
        return text
    return _ROUNDED.sub(lambda found: f"{found[1]}{_step(found[2], found[3], flow)}", text, count=1)


def _step(digits: str, letter: str, flow: Flow) -> int:
    """The next step by the stride, which is the first step of all, where that is what was rounded; else the
    rounded one."""
    unit = _UNITS[letter.upper()]
    shown = round(float(digits) * unit)
    _, _, decimals = digits.partition(".")
    following = (flow.step or 0) + (flow.first or 0)
    near = abs(following - shown) * 2 <= unit // 10 ** len(decimals)
    return following if flow.step and flow.first and near else shown
