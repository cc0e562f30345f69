"""What one change of a remedy makes of a value, in canonical units and in the framework's own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hrmdoc.errors import PatchError, RuleError, UnchangedError
from hrmdoc.remedies.editors.scalars import Plain, rounded, same
from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hrmdoc.rulebook import Change, ConfigKey

_COMPUTED = 2
"""Significant digits of a value that a formula gives: it is no more exact than that."""


def changed(change: Change, current: Plain, facts: Mapping[str, Any]) -> Plain:
    """The new canonical value. `current` is None when nothing is known of it.

    `set` takes the value as it is and refuses one out of bounds; `multiply` stops at a bound; `clamp` moves
    to the nearer one.

    Raises:
        PatchError: the current value is needed and unknown, the new one is out of bounds, or nothing would
            change.
    """
    if change.op == "set":
        value = _operand(change, current, facts)
        value = rounded(value) if isinstance(value, float) else value
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and not same(_bounded(change, value), value)
        ):
            raise PatchError(f"{change.key} = {value} is out of bounds ({bounds(change)})")
        return value
    number = _as_number(change, current)
    if change.op == "clamp":
        return _moved(change, number, _bounded(change, number))
    factor = _as_number(change, _operand(change, current, facts))
    new = rounded(number * factor)
    if isinstance(change.value, str):
        new = float(f"{new:.{_COMPUTED}g}")
    inside = _bounded(change, new)
    if (inside - number) * (factor - 1.0) <= 0.0:
        raise UnchangedError(f"{change.key} = {current} is at its bound already ({bounds(change)})")
    return inside


def _operand(change: Change, current: Plain, facts: Mapping[str, Any]) -> Plain:
    """The `value` of a change; `=...` is an expression over canonical facts, in which the key itself is what
    the file says."""
    value: Plain = change.value
    if not isinstance(value, str) or not value.startswith("="):
        return value
    now = {} if current is None else {change.key: current}
    # A key that was never set counts as 0: remedies name `current` only as the least that the new value may
    # be.
    own = {"current": 0 if current is None else current}
    try:
        known = {"run.kind": "unknown", **facts, **now, **own}
        result: Plain = compile_expression(value)(known, about(known))
    except MissingInput as missing:
        raise PatchError(f"cannot compute {change.key} {value}: {missing.name} is not known") from missing
    except RuleError as error:
        raise PatchError(f"cannot compute {change.key} {value}: {error.what}") from error
    return result


def _as_number(change: Change, value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        what = "is not known" if value is None else f"is {value!r}, no number"
        raise PatchError(f"the current value of {change.key} {what}, so it cannot be changed by {change.op}")
    return float(value)


def _bounded(change: Change, value: float) -> float:
    low = -math.inf if change.min is None else change.min
    high = math.inf if change.max is None else change.max
    return min(max(value, low), high)


def _moved(change: Change, old: float, new: float) -> float:
    if same(old, new):
        raise UnchangedError(f"{change.key} = {old:g} is within its bounds already ({bounds(change)})")
    return new


def bounds(change: Change) -> str:
    """The bounds as words: `1e-06 to 0.001`, `at most 8`."""
    if change.min is not None and change.max is not None:
        return f"{change.min:g} to {change.max:g}"
    if change.min is not None:
        return f"at least {change.min:g}"
    return "no bounds" if change.max is None else f"at most {change.max:g}"


def to_own(value: Plain, key: ConfigKey, before: Plain) -> Plain:
    """A canonical value in the framework's units and type; whole numbers round away from the value before.

    Raises:
        PatchError: the value is not of the type that the framework wants.
    """
    if key.words:
        return next((word for word, said in key.words.items() if said == value), None)
    if value is None or (key.type == "bool" and isinstance(value, bool)):
        return value
    if key.type == "str":
        return str(value)
    if key.type == "bool" and isinstance(value, int):
        return value > 0  # evaluations to wait, where the framework only knows on and off
    if key.type == "bool" or isinstance(value, bool | str):
        raise PatchError(f"{key.keys[0]} takes a value of type {key.type}, not {value!r}")
    if key.type == "int":
        return _whole(value / key.scale, key, before)
    return _real(value / key.scale, value if before is None else before)


def _real(own: float, like: Plain) -> Plain:
    return int(own) if isinstance(like, int) and own.is_integer() else rounded(own)


def _whole(own: float, key: ConfigKey, before: Plain) -> int:
    """The whole number next to `own`, away from the value before."""
    if not math.isfinite(own):
        raise PatchError(f"{key.keys[0]} takes a whole number, not {own}")
    if abs(own - round(own)) < 1e-6:
        return round(own)
    falls = isinstance(before, int | float) and own < before
    return math.floor(own) if falls else math.ceil(own)


def to_canonical(value: Plain, key: ConfigKey) -> Plain:
    """A framework's own value in canonical units."""
    if key.words and isinstance(value, str):
        said: Plain = key.words.get(value, value)
        return said
    if isinstance(value, bool) or not isinstance(value, int | float) or key.scale == 1.0:
        return value
    return rounded(value * key.scale)
