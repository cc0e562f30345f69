"""Pieces of Python's syntax that settings are written in: constants, dictionaries, names that are set."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

Plain = str | int | float | bool | None
_MOST_BITS = 1024  # of a computed number; each product of two may have twice as many
_LONGEST = 1000  # characters of a word that may be a setting
BAGS = frozenset(
    {
        "args",
        "cfg",
        "conf",
        "config",
        "hparams",
        "hyperparameters",
        "hyperparams",
        "hps",
        "opt",
        "params",
        "self",
    }
)
"""Names of objects that stand for all settings: `config.lr` is `lr`."""
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def constant(node: ast.expr, known: Mapping[str, Plain]) -> Plain:
    """The value of an expression of constants and of the names in `known`.

    Raises:
        ValueError: it needs more than constants.
    """
    if isinstance(node, ast.Constant):
        if node.value is None or (
            isinstance(node.value, str | int | float) and len(str(node.value)) <= _LONGEST
        ):
            return node.value
    elif isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_as_number(constant(node.operand, known))
    elif isinstance(node, ast.BinOp):
        return _computed(
            node.op, _as_number(constant(node.left, known)), _as_number(constant(node.right, known))
        )
    raise ValueError("no constant")


def members(node: ast.expr) -> list[tuple[str | int, ast.expr]] | None:
    """Keys and values of a dictionary, a `dict(...)`, a list or a tuple; None for anything else."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [
            (key.value, value)
            for key, value in pairs
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    if isinstance(node, ast.Call) and name_of(node.func) == "dict":
        return [(word.arg, word.value) for word in node.keywords if word.arg is not None]
    if isinstance(node, ast.List | ast.Tuple):
        return list(enumerate(node.elts))
    return None


def targets(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """Names that an assignment sets, `lr` also for `config.lr` and `args["lr"]`."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Attribute) and name_of(target.value) in BAGS:
            yield target.attr
        elif (
            isinstance(target, ast.Subscript)
            and name_of(target.value) in BAGS
            and isinstance(target.slice, ast.Constant)
        ):
            yield str(target.slice.value)


def name_of(node: ast.expr) -> str:
    """The last part of `a.b.c`, "" for what has no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def flag_of(node: ast.expr) -> str:
    """`batch_size` for `"--batch-size"`, "" for anything else."""
    word = node.value if isinstance(node, ast.Constant) else None
    return word[2:].replace("-", "_") if isinstance(word, str) and word.startswith("--") else ""


def _computed(operation: ast.operator, left: float, right: float) -> float:
    """The value of two numbers and an operation between them.

    Raises:
        ValueError: it is no arithmetic, or too large for a setting.
    """
    if isinstance(operation, ast.Pow) and abs(left) <= 1e6 and abs(right) <= 64:
        return float(left**right) if right < 0 or isinstance(right, float) else left**right
    if type(operation) not in _OPERATIONS:
        raise ValueError("no arithmetic")
    found = _OPERATIONS[type(operation)](left, right)
    if isinstance(found, int) and found.bit_length() > _MOST_BITS:
        raise ValueError("too large for a setting")
    return found


def _as_number(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no number")
    return value
