"""An expression at every moment of a run at once: 1 where it holds, 0 where it does not, NaN where nobody can
say.

`hrmdoc.rulebook.expressions` answers once, from all there is. This does the same over arrays, shape [n], one
item a moment, with the same rules for what is missing: a name that is unknown decides only where the branch
it stands in is taken.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from hrmdoc.record.records import FloatArray

Ask = Callable[..., Any]
"""What a function of the caller answers: an array over the moments, or one value for all of them."""

_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.float_power,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *given: reduce(np.minimum, given),
    "max": lambda *given: reduce(np.maximum, given),
    "abs": np.abs,
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
}


@lru_cache(maxsize=1024)
def _tree(text: str) -> ast.Expression:
    return ast.parse(text.strip(), mode="eval")


def along(text: str, facts: Mapping[str, Any], ask: Ask, n: int) -> FloatArray:
    """Whether the expression holds at each of `n` moments.

    Args:
        text: an expression that `compile_expression` takes.
        facts: what is known of the run; the same at each moment.
        ask: the name of a function and its arguments -> its answers.
    """
    tree = _tree(text)
    with np.errstate(all="ignore"):
        answer = _Walk(facts, ask).of(tree.body)
    return np.broadcast_to(_truth(answer), n)


class _Walk:
    """One method a kind of node."""

    def __init__(self, facts: Mapping[str, Any], ask: Ask) -> None:
        self._facts = facts
        self._ask = ask

    def of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return math.nan if node.value is None else node.value
            case ast.Name() | ast.Attribute():
                value = self._facts.get(ast.unparse(node))
                return math.nan if value is None else value
            case ast.BinOp():
                return _numeric(_ARITHMETIC[type(node.op)], self.of(node.left), self.of(node.right))
            case ast.UnaryOp(op=ast.Not()):
                return 1.0 - _truth(self.of(node.operand))
            case ast.UnaryOp():
                return _numeric(_ARITHMETIC[_SIGNS[type(node.op)]], 0.0, self.of(node.operand))
            case ast.BoolOp():
                return reduce(_JOINTS[type(node.op)], (_truth(self.of(part)) for part in node.values))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                test = _truth(self.of(node.test))
                return _chosen(test, self.of(node.body), self.of(node.orelse))
            case ast.Call(func=ast.Name(id=name)):
                return self._call(name, node.args)
            case _:
                raise TypeError(f"{ast.unparse(node)[:40]!r} is not part of the language")

    def _compare(self, node: ast.Compare) -> Any:
        operands = [self.of(one) for one in (node.left, *node.comparators)]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        held = [_compared(_COMPARISONS[type(op)], left, right) for op, left, right in pairs]
        return reduce(_both, held)

    def _call(self, name: str, nodes: list[ast.expr]) -> Any:
        if name in _FUNCTIONS:
            return _numeric(_FUNCTIONS[name], *map(self.of, nodes))
        named = (ast.Name, ast.Attribute)
        return self._ask(
            name, *(ast.unparse(one) if isinstance(one, named) else self.of(one) for one in nodes)
        )


_SIGNS: dict[type[ast.AST], type[ast.AST]] = {ast.USub: ast.Sub, ast.UAdd: ast.Add}


def _numeric(apply: Callable[..., Any], *given: Any) -> Any:
    """Unknown comes of words where numbers belong, as the run may state anything, and of a division by 0."""
    if any(isinstance(one, str) for one in given):
        return math.nan
    found = apply(*given)
    return np.where(np.isfinite(found), found, np.nan)


def _compared(test: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if isinstance(left, str) != isinstance(right, str) and test not in (operator.eq, operator.ne):
        return math.nan
    if isinstance(left, str) or isinstance(right, str):
        missing = any(isinstance(one, float) and math.isnan(one) for one in (left, right))
        return math.nan if missing else float(np.all(test(left, right)))
    return np.where(np.isnan(left) | np.isnan(right), np.nan, test(left, right))


def _truth(value: Any) -> FloatArray:
    """1, 0 or NaN."""
    if isinstance(value, str):
        return np.asarray(float(bool(value)))
    known = np.asarray(value, np.float64)
    return np.where(np.isnan(known), np.nan, known != 0)


def _both(left: FloatArray, right: FloatArray) -> FloatArray:
    """`left and right`: the left one decides where it does not hold, known or not."""
    return np.where(left == 1, right, left)


def _either(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.where(left == 0, right, left)


_JOINTS: dict[type[ast.AST], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.And: _both,
    ast.Or: _either,
}


def _chosen(test: FloatArray, then: Any, other: Any) -> Any:
    if test.ndim == 0:  # words may be chosen among, as long as all moments choose alike
        return math.nan if np.isnan(test) else then if test else other
    return np.where(np.isnan(test), np.nan, np.where(test == 1, then, other))
