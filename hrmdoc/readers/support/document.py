"""Leaves of a YAML or JSON document with the lines they stand on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.budget import MAX_CONFIG, MAX_DEPTH, MAX_LEAVES
from hrmdoc.readers.support.flatten import flatten

Leaf = tuple[str, Any, int | None]


def json_leaves(blob: bytes, path: str) -> Iterator[Leaf]:
    """Dotted key, value and 1-based line of every leaf of a JSON mapping.

    Raises:
        InputError: it is no JSON; at the end, when some of it lies too deep or it has too many leaves.
    """
    tree = json_text.document(blob, path)
    if not isinstance(tree, dict):
        return
    text = blob.decode("utf-8", "replace")
    text = text if len(text) <= MAX_CONFIG else ""  # the search for lines takes long in large ones
    at, line, before = 0, 1, [""]
    cut: list[str] = []
    for key, value in flatten(tree, cut):
        parts = key.split(".")
        same = next(
            (n for n, (a, b) in enumerate(zip(parts, before, strict=False)) if a != b),
            min(len(parts), len(before)),
        )
        for part in parts[same:] or parts[-1:]:
            found = text.find(f'"{part}"', at)
            if found >= 0:
                line += text.count("\n", at, found)
                at = found + len(part) + 2
        before = parts
        yield key, value, line if found >= 0 else None
    if cut:
        raise InputError(f"{len(cut):,} of its values lie too deep or are too many", file=path)


def yaml_leaves(blob: bytes, path: str) -> Iterator[Leaf]:
    """Dotted key, value and 1-based line of every leaf of the first mapping in a YAML file (version 1.2).

    Raises:
        InputError: it is no YAML, or too large for a config.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(blob) > MAX_CONFIG:
        raise InputError(f"is larger than {MAX_CONFIG >> 20} MiB, too large for a config", file=path)
    yaml = YAML(typ="rt", pure=True)
    yaml.allow_duplicate_keys = True
    text = blob.decode("utf-8", "replace").replace("\t", "    ")
    try:
        tree = next(iter(yaml.load_all(text)), None)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(f"is no valid YAML: {error.problem}", file=path, line=line) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"is no valid YAML: {error}", file=path) from error
    if _expanded(tree, {}, 0) > MAX_LEAVES:
        raise InputError(
            f"holds more than {MAX_LEAVES:,} values, aliases counted as often as used", file=path
        )
    yield from _walk(tree, "", 0)


def _expanded(node: Any, known: dict[int, int], depth: int) -> int:
    """How many nodes there are below `node` when each alias stands for what it names; beyond all measure
    where one stands inside of itself, or too deep."""
    if not isinstance(node, dict | list):
        return 1
    if depth > 10 * MAX_DEPTH:
        return MAX_LEAVES + 1
    if id(node) not in known:
        known[id(node)] = MAX_LEAVES + 1  # what it counts while it is not closed
        inner = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_expanded(one, known, depth + 1) for one in inner)
    return known[id(node)]


def _walk(node: Any, route: str, depth: int) -> Iterator[Leaf]:
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        name = f"{route}.{key}" if route else str(key)
        if isinstance(value, dict):
            yield from _walk(value, name, depth + 1)
            continue
        position = node.lc.data.get(key) if hasattr(node, "lc") and node.lc.data else None
        yield name, _builtin(value), position[0] + 1 if position else None


def _builtin(value: Any) -> Any:
    """A leaf as a plain Python value: ruamel's own number and text types remember how they were written."""
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return [_builtin(item) for item in value] if isinstance(value, list) else str(value)
