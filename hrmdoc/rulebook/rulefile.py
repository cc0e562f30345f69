"""A YAML file as the structure it must be; what does not fit is told with its line and, for a key, the
nearest valid one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from hrmdoc.errors import RuleError, did_you_mean
from hrmdoc.text import patterns

Kind = TypeVar("Kind", bound=Struct)


def convert(
    path: Path, blob: bytes, kind: type[Kind], adapt: Callable[[dict[str, Any]], Any] | None = None
) -> Kind:
    """The file's content as a `kind`; `adapt` first turns older forms into the present one.

    Raises:
        RuleError: it is no YAML, or something in it does not fit: with the line and, for an unknown key, the
            nearest valid one.
    """
    try:
        tree = _tree(path, blob)
        return msgspec.convert(adapt(tree) if adapt else tree, kind, strict=True)
    except msgspec.ValidationError as error:
        found = misfit(error, kind)
        raise RuleError(
            found.what, file=path, line=line_of(path, blob, found.route), hint=found.hint
        ) from error


class Misfit(NamedTuple):
    """What does not fit, the keys and indices that lead to it, and which keys would."""

    what: str
    route: tuple[str, ...]
    hint: str | None


_UNKNOWN = patterns.lazy(r"unknown field `(?P<key>[^`]*)`")
_AT = patterns.lazy(r" - at `\$?(?P<route>[^`]*)`")
FREE = "[...]"
"""How msgspec names a key that is free to choose."""
_STEP = patterns.lazy(r"\[\.\.\.\]|[^.\[\]]+")


def misfit(error: msgspec.ValidationError, kind: type[Struct]) -> Misfit:
    """Why a value could not be converted to `kind`, taken from the words of msgspec."""
    text = str(error)
    found = _AT.search(text)
    route = tuple(_STEP.findall(found["route"])) if found else ()
    unknown = _UNKNOWN.search(text)
    if unknown is None:
        words = _words_at(kind, route) if "enum value" in text else []
        return Misfit(_AT.sub("", text), route, f"one of {', '.join(words)}" if words else None)
    key, known = unknown["key"], _keys_at(kind, route)
    return Misfit(
        f"unknown key {key!r}", (*route, key), did_you_mean(key, known) or f"known keys: {', '.join(known)}"
    )


def _keys_at(kind: type[Struct], route: tuple[str, ...]) -> list[str]:
    """The keys that are valid where `route` leads."""
    return [field.encode_name for one in _structures_at(kind, route) for field in msgspec.structs.fields(one)]


def _structures_at(kind: type[Struct], route: tuple[str, ...]) -> list[type[Struct]]:
    """The structures that `route` leads to; indices and free keys stay in the one they are in."""
    here: list[type[Struct]] = [kind]
    for part in route:
        types = [
            field.type for one in here for field in msgspec.structs.fields(one) if field.encode_name == part
        ]
        here = [one for found in types for one in _structures(found)] or here
    return here


def _words_at(kind: type[Struct], route: tuple[str, ...]) -> list[str]:
    """The words that are valid where `route` leads, where these are counted."""
    while route and route[-1].isdigit():
        route = route[:-1]
    if not route:
        return []
    here: list[Any] = [
        field.type
        for one in _structures_at(kind, route[:-1])
        for field in msgspec.structs.fields(one)
        if field.encode_name == route[-1]
    ]
    while any(map(get_args, here)) and not any(get_origin(one) is Literal for one in here):
        here = [inner for one in here for inner in get_args(one)]
    return [str(word) for one in here if get_origin(one) is Literal for word in get_args(one)]


def _structures(annotation: Any) -> Iterator[type[Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        yield annotation
    for inner in get_args(annotation):
        yield from _structures(inner)


def line_of(path: Path, blob: bytes, route: tuple[str, ...]) -> int | None:
    """1-based line of the value at `route`, or of the last part of it that is there."""
    data, line = _tree(path, blob, positions=True), None
    for part in route:
        listed = isinstance(data, list)
        key: Any = int(part) if part.isdigit() and listed else part
        try:
            positions: Any = data.lc
            line = int((positions.item(key) if listed else positions.key(key))[0]) + 1
            data = data[key]
        except (KeyError, IndexError, AttributeError, TypeError):
            return line
    return line


def _tree(path: Path, blob: bytes, *, positions: bool = False) -> Any:
    """The file as mappings and lists; with `positions` each value knows its line, at twice the cost."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = YAML(typ="rt" if positions else "safe", pure=True).load(blob.decode("utf-8"))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise RuleError(f"not valid YAML: {error.problem}", file=path, line=line) from error
    except (
        YAMLError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: not UTF-8, or a date such as 2026-13-01
        raise RuleError(f"not valid YAML: {error}", file=path) from error
    if not isinstance(data, dict):
        raise RuleError("a rule file holds one mapping", file=path)
    return data
