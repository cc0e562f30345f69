"""Leaves of a YAML or JSON document with the lines they stand on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hrmdoc.errors import InputError
from hrmdoc.readers.support import json_text
from hrmdoc.readers.support.flatten import flatten

MAX_YAML = 1 << 20
_MAX_DEPTH = 12
_MAX_LEAVES = 5000

Leaf = tuple[str, Any, int | None]


def json_leaves(blob: bytes, path: str) -> Iterator[Leaf]:
    """Dotted key, value and 1-based line of every leaf of a JSON mapping.

    Raises:
        InputError: it is no JSON.
    """
    tree = json_text.document(blob, path)
    if not isinstance(tree, dict):
        return
    text = blob.decode("utf-8", "replace")
    at, line, before = 0, 1, [""]
    for key, value in flatten(tree):
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


def yaml_leaves(blob: bytes, path: str) -> Iterator[Leaf]:
    """Dotted key, value and 1-based line of every leaf of the first mapping in a YAML file (version 1.2).

    Raises:
        InputError: it is no YAML, or too large for a config.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(blob) > MAX_YAML:
        raise InputError(f"is larger than {MAX_YAML >> 20} MiB, too large for a config", file=path)
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
    for number, leaf in enumerate(_walk(tree, "", 0)):
        if number >= _MAX_LEAVES:
            return
        yield leaf


def _walk(node: Any, route: str, depth: int) -> Iterator[Leaf]:
    if depth > _MAX_DEPTH or not isinstance(node, dict):
        return
    for key, value in node.items():
        name = f"{route}.{key}" if route else str(key)
        if isinstance(value, dict):
            yield from _walk(value, name, depth + 1)
            continue
        position = node.lc.data.get(key) if hasattr(node, "lc") and node.lc.data else None
        yield name, _plain(value), position[0] + 1 if position else None


def _plain(value: Any) -> Any:
    """A leaf as a plain Python value: ruamel's own number and text types remember how they were written."""
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return [_plain(item) for item in value] if isinstance(value, list) else str(value)
