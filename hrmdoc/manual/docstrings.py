"""Docstrings in Markdown, and the page of the Python interface."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from hrmdoc.manual.markup import heading, settled

_PART = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")
_ITEM = re.compile(r"(?P<names>\*{0,2}[A-Za-z_][\w, *]*?): (?P<text>\S.*)")


def python_page() -> str:
    """What `import hrmdoc` offers: signatures and docstrings of all public names."""
    package = importlib.import_module("hrmdoc")
    names = [name for name in package.__all__ if not name.startswith("__")]
    parts = ["# Python", prose(inspect.getdoc(package) or "")]
    for name in sorted(names, key=str.lower):
        parts += _described(name, getattr(package, name), 2)
    return settled("\n\n".join(parts)) + "\n"


def _described(name: str, item: Any, level: int, of: str = "") -> Iterator[str]:
    full = f"{of}.{name}" if of else name
    yield heading(level, f"`{full}`", full.lower().replace(".", "-"))
    if not isinstance(item, property):
        yield f"```python\n{full}{_signature(item)}\n```"
    yield prose(inspect.getdoc(item) or "")
    if inspect.isclass(item):
        for member, value in vars(item).items():
            inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            if not member.startswith("_") and (inspect.isfunction(inner) or isinstance(inner, property)):
                yield from _described(member, inner, level + 1, name)


def _signature(item: Any) -> str:
    if inspect.isclass(item) and issubclass(item, msgspec.Struct):
        return _fields(item)
    try:
        return re.sub(r"\bself(, )?", "", str(inspect.signature(item))).replace("'", "")
    except (TypeError, ValueError):
        return ""


def _fields(item: type[msgspec.Struct]) -> str:
    """The signature of a struct as its source spells it: some types are named for type checkers alone."""
    spelt: dict[str, Any] = {}
    for base in reversed(item.__mro__):
        spelt |= vars(base).get("__annotations__", {})
    names, given = item.__struct_fields__, len(item.__struct_defaults__)
    words = [f"{name}: {spelt[name]}" for name in names]
    first = len(words) - given
    return f"({', '.join([*words[:first], *(f'{word} = ...' for word in words[first:])])})"


def prose(text: str) -> str:
    """A docstring as Markdown: its parts (`Args:`) as lists, the rest as it stands."""
    return "\n".join(_prose(text))


def _prose(text: str) -> Iterator[str]:
    part = ""
    for line in text.splitlines():
        if found := _PART.fullmatch(line):
            part = found[1]
            yield f"**{part}**\n"
        elif part and line.startswith("    "):
            item = _ITEM.fullmatch(line.strip()) if line[4:5] != " " else None
            if item and part != "Returns":
                yield f"* `{item['names']}`: {item['text']}"
            else:
                yield f"  {line.strip()}" if line[4:5] == " " else line.strip()
        else:
            part = part if not line else ""
            yield line
