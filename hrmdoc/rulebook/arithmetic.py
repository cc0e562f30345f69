"""What expressions compute with: operators and functions whose numbers stay bounded."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

LARGEST_EXPONENT = 64
LARGEST_INTEGER = 2**63


def bounded(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise OverflowError("a whole number grew beyond 64 bits")
    return value


def number_of(value: Any) -> float | int:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{value!r} is not a number")


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > LARGEST_EXPONENT:
        raise OverflowError(f"an exponent may be {LARGEST_EXPONENT} at most")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return result


def _round(value: float, digits: int = 0) -> float | int:
    return round(value, digits) if digits else round(value)


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "log": math.log,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
}
