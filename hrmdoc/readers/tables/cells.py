"""How one cell of a table is read: as a number, as a time, or as missing."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from hrmdoc.text import patterns

_MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "--", "?", "[n/a]", "[not supported]"})
_NONFINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "nan.0": math.nan, "inf.0": math.inf}
_NUMBER = patterns.lazy(
    r"^([+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))\s*(?:%|[a-zA-Z/]{1,6})?$"
)
_LONGEST = 2000  # characters of an array in a cell
_PRINTED = patterns.lazy(
    r"^(?:tensor|array|Array|(?:np|numpy)\.\w{1,12})\(\s*([-+\w.]{1,32})\s*(?:,[^()]{0,40})?\)$"
)
_OF_TOTAL = patterns.lazy(r"^(\d+)\s*/\s*\d+$")
_DAY_2001 = 978_307_200.0  # a number below this is seconds since the start of the run, not since 1970
SECONDS = (1e9, 1e11)  # numbers between them are seconds since 1970 beyond doubt


def number(cell: Any) -> float | None:
    """A cell as a number: text with units, thousands separators, `8270/11043`; None when it is missing or no
    number."""
    if isinstance(cell, int | float):
        return float(cell) if abs(cell) < 1e308 or cell != cell or isinstance(cell, float) else math.inf
    if isinstance(cell, list) and len(cell) == 1:
        return number(cell[0])
    if not isinstance(cell, str) or len(cell) > (_LONGEST if cell.startswith("[") else 64):
        return None
    text = cell.strip()
    try:
        return None if "_" in text else float(text)
    except ValueError:
        pass
    return _spelled(text)


def _spelled(text: str) -> float | None:
    """The number in a text that is not written as Python writes one."""
    lowered = text.lower()
    if lowered in _MISSING:
        return None
    sign = -1.0 if lowered.startswith("-") else 1.0
    if (value := _NONFINITE.get(lowered.lstrip("+-"))) is not None:
        return sign * value
    if found := _OF_TOTAL.match(text) or _NUMBER.match(text):
        return float(found[1].replace(",", ""))
    if found := _PRINTED.match(text):
        return number(found[1])
    return _mean_of(text) if text.startswith("[") and text.endswith("]") else None


def _mean_of(text: str) -> float | None:
    """The mean of an array as numpy prints it, such as the rewards of environments side by side."""
    cells = text[1:-1].replace(",", " ").split()
    try:
        return sum(map(float, cells)) / len(cells) if cells else None
    except ValueError:
        return None


def is_missing(cell: Any) -> bool:
    """Whether a cell says in words that nothing was measured."""
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in _MISSING)


def unix_time(cell: Any) -> float:
    """A cell as Unix seconds: seconds, milliseconds, nanoseconds or an ISO date; NaN when it is none of
    these."""
    if isinstance(cell, str) and not cell.replace(".", "", 1).isdigit():
        try:
            return datetime.fromisoformat(cell.strip().replace("/", "-").replace(",", ".")).timestamp()
        except (ValueError, OverflowError, OSError):
            return math.nan
    value = number(cell)
    if value is None or not math.isfinite(value):
        return math.nan
    while value > 1e11:
        value /= 1e3
    return value if value > _DAY_2001 else math.nan
