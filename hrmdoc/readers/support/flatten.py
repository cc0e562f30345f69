"""Nested mappings made flat: `{"model": {"lr": 1}}` gives `model.lr`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hrmdoc.record.run import Fact, Value

_MAX_DEPTH = 12
_MAX_LEAVES = 5000
_MAX_TEXT = 500


def flatten(tree: Mapping[Any, Any], separator: str = ".") -> Iterator[tuple[str, Any]]:
    """Dotted keys and leaves, in order; empty mappings give nothing. Keys of any type are spelled as text."""
    waiting: list[tuple[str, Any, int]] = [("", tree, 0)]
    leaves = 0
    while waiting and leaves < _MAX_LEAVES:
        route, node, depth = waiting.pop()
        if isinstance(node, Mapping):
            inner = [
                (f"{route}{separator}{key}" if route else str(key), value, depth + 1)
                for key, value in node.items()
            ]
            waiting += reversed(inner) if depth < _MAX_DEPTH else ()
        elif route:
            leaves += 1
            yield route, node


def flat_facts(tree: Any, path: str) -> Iterator[Fact]:
    """Config facts of a parsed JSON or YAML document; lists of numbers or names become text."""
    if isinstance(tree, Mapping):
        for key, value in flatten(tree):
            if (plain := plain_value(value)) is not None or value is None:
                yield Fact(key, plain, "config", path)


def plain_value(value: Any) -> Value:
    """`value` as a fact can hold it; None for what is too large or has no plain form."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if (
        isinstance(value, list | tuple)
        and len(value) <= 16
        and all(isinstance(v, str | int | float | bool) for v in value)
    ):
        return value[0] if len(value) == 1 else ", ".join(str(v) for v in value)
    return None
