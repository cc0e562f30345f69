"""One value of a config as a canonical fact: its unit, its type, and where it stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hrmdoc.record.records import Fact, Value
from hrmdoc.text.precisions import precision_of

if TYPE_CHECKING:
    from hrmdoc.rulebook import ConfigKey

_OFF = frozenset({"none", "null", "false", "off", ""})
_UNSAID = frozenset({"none", "null", "", "auto", "???"})
_NO = frozenset({"false", "0", "off", "no"})
_POSITIVE = frozenset(
    {
        "run.total_steps",
        "run.epochs",
        "data.batch_size",
        "data.micro_batch_size",
        "data.grad_accum",
        "world_size",
    }
)


def at(source: Fact, key: str, value: Value) -> Fact:
    """A canonical fact that stands where `source` stands."""
    return Fact(key, value, "run", source.file, source.line)


def converted(key: str, value: Value, spelling: ConfigKey) -> Value:
    """A framework's value in canonical units and type; None when it says nothing."""
    if spelling.words and str(value) in spelling.words:
        said: Value = spelling.words[str(value)]
        return said
    if key == "precision":
        return precision_of(str(value))
    if key == "optimizer.grad_clip" and str(value).lower() in _OFF:
        return 0.0
    if value is None or (isinstance(value, str) and value.strip().lower() in _UNSAID):
        return None
    if spelling.type == "str":
        return str(value)
    if spelling.type == "bool":
        return value if isinstance(value, bool) else str(value).lower() not in _NO
    return _scaled(key, value, spelling)


def _scaled(key: str, value: Value, spelling: ConfigKey) -> Value:
    found = number(value)
    if found is None or (key in _POSITIVE and found <= 0):
        return None
    found *= spelling.scale
    return int(found) if spelling.type == "int" and found.is_integer() else found


def number(value: Value) -> float | None:
    """`value` as a finite number; None where it is none."""
    try:
        found = float(value) if value is not None and not isinstance(value, bool) else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None
