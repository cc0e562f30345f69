"""JSON as training code writes it: with bare NaN and Infinity, which strict parsers refuse."""

from __future__ import annotations

import json
from typing import Any

import orjson

from hrmdoc.errors import InputError
from hrmdoc.readers.support.budget import MAX_OBJECTS


def loads(blob: bytes) -> Any:
    """Parses one document; NaN and Infinity tokens become floats.

    Raises:
        ValueError: it is no JSON, is nested too deeply, or holds too many lists and mappings.
    """
    if len(blob) > MAX_OBJECTS and blob.count(b"[") + blob.count(b"{") > MAX_OBJECTS:
        raise ValueError(f"holds more than {MAX_OBJECTS:,} lists and mappings")
    try:
        return orjson.loads(blob)
    except orjson.JSONDecodeError:
        try:
            return json.loads(blob.decode("utf-8", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def document(blob: bytes, path: str) -> Any:
    """Parses a whole file.

    Raises:
        InputError: it is no JSON; names the line.
    """
    try:
        return loads(blob.removeprefix(b"\xef\xbb\xbf"))
    except json.JSONDecodeError as error:
        raise InputError(f"is no valid JSON: {error.msg}", file=path, line=error.lineno) from error
    except ValueError as error:
        raise InputError(f"is no valid JSON: {error}", file=path) from error


def objects_in(text: str, at: int) -> list[Any]:
    """The whole values of a JSON array whose first element begins at or after `at`; what follows damage is
    left out."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    while True:
        while at < len(text) and text[at] in " \t\r\n,[":
            at += 1
        if at >= len(text) or text[at] == "]":
            return found
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        found.append(value)


def part(tree: Any, *names: str) -> Any:
    """What lies below these names; None where there is no such thing."""
    for name in names:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
