"""Nested mappings made flat: `{"model": {"lr": 1}}` gives `model.lr`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hrmdoc.readers.support.budget import MAX_DEPTH, MAX_LEAVES
from hrmdoc.record.records import Damage, Fact, Value

_MAX_TEXT = 500


def flatten(tree: Mapping[Any, Any], cut: list[str] | None = None) -> Iterator[tuple[str, Any]]:
    """Dotted keys and leaves, in order; empty mappings give nothing. Keys of any type are spelled as text.

    Args:
        tree: nested mappings.
        cut: receives the routes of what lies too deep, or behind too many leaves, and is left out.
    """
    waiting: list[tuple[str, Any, int]] = [("", tree, 0)]
    left = MAX_LEAVES
    while waiting:
        route, node, depth = waiting.pop()
        if (isinstance(node, Mapping) and depth >= MAX_DEPTH and node) or left == 0:
            if cut is not None:
                cut.append(route)
            continue
        if isinstance(node, Mapping):
            inner = [
                (f"{route}.{key}" if route else str(key), value, depth + 1) for key, value in node.items()
            ]
            waiting += reversed(inner)
        elif route:
            left -= 1
            yield route, node


def flat_facts(tree: Any, path: str, line: int | None = None) -> Iterator[Fact | Damage]:
    """Config facts of a parsed JSON or YAML document; lists of numbers or names become text."""
    if not isinstance(tree, Mapping):
        return
    cut: list[str] = []
    for key, value in flatten(tree, cut):
        if (plain := plain_value(value)) is not None or value is None:
            yield Fact(key, plain, "config", path, line)
    if cut:
        what = f"{len(cut):,} settings lie too deep or are too many, the first under {cut[0]!r}"
        yield Damage(path, line, what[:300], left_out=len(cut))


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
