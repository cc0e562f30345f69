"""Every setting with its type and default, from the classes that read it."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from hrmdoc.manual.docstrings import prose
from hrmdoc.manual.markup import heading, settled, table
from hrmdoc.settings import Settings

NOT_SET = {"origin", "alerts_origin", "withheld"}
"""Filled in when settings are read."""
LEAD = """# Settings

`hrmdoc.toml` in the working folder or above it, `[tool.hrmdoc]` in `pyproject.toml`, and
`~/.config/hrmdoc/hrmdoc.toml`, over which the nearest file counts. `rules`, `[alerts]` and `[policy]` of a
file that is not your own count once `hrmdoc trust` took it in. An unknown key is refused, with the name
that was probably meant.
"""
WORDS = {
    str: "text",
    float: "number",
    int: "whole number",
    bool: "true or false",
    datetime.date: "date",
    Any: "any value",
}


def page() -> str:
    """The page."""
    return settled("\n\n".join([LEAD, *_tables(Settings, "", "Top level")])) + "\n"


def _tables(kind: type[Struct], prefix: str, title: str) -> Iterator[str]:
    """One table for this class, then those of the classes inside it."""
    hints = get_type_hints(kind, include_extras=True)
    shown = [one for one in fields(kind) if not (kind is Settings and one.name in NOT_SET)]
    yield heading(2, title, re.sub(r"\W+", "-", title.lower()).strip("-"))
    if kind is not Settings:
        yield prose(inspect.getdoc(kind) or "")
    rows = ((f"`{one.encode_name}`", _type(hints[one.name]), _default(one)) for one in shown)
    yield table(("key", "type", "default"), rows)
    for one in shown:
        for inner in _structs(hints[one.name]):
            many = get_origin(hints[one.name]) is tuple
            named = ".ID" if get_origin(hints[one.name]) is dict else ""
            name = f"{prefix}{one.encode_name}{named}"
            yield from _tables(inner, f"{name}.", f"`[[{name}]]`" if many else f"`[{name}]`")


def _structs(hint: Any) -> Iterator[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for part in get_args(hint):
        yield from _structs(part)


def _type(hint: Any) -> str:
    """A type in words: `list of text`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [f"{word} {value:g}" for word, value in _bounds(hint.__metadata__[0])]
        pattern = getattr(hint.__metadata__[0], "pattern", None)
        return ", ".join([_type(inner[0]), *bounds, *([f"like `{pattern}`"] if pattern else [])])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is tuple:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"table of {_type(inner[1])}"
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in inner if part is not NoneType)
    return WORDS.get(hint) or "table"


def _bounds(meta: Any) -> Iterator[tuple[str, float]]:
    for name, word in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
        if (value := getattr(meta, name, None)) is not None:
            yield word, value


def _default(one: Any) -> str:
    value = one.default if one.default is not NODEFAULT else one.default_factory
    if value is NODEFAULT:
        return "has to be given"
    if value in (None, (), "", dict) or isinstance(value, Struct) or callable(value):
        return ""
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"
