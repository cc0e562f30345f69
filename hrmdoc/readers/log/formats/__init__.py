"""How programs print metrics: one module and one sample a format; the folder is the registry."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hrmdoc.readers.log.formats.base import Format


@cache
def names() -> tuple[str, ...]:
    """The names of all formats."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name != "base"))


@cache
def formats() -> tuple[type[Format], ...]:
    """The class of each format, in the order in which they are asked."""
    from hrmdoc.readers.log.formats.base import Format

    found = []
    for name in names():
        module = importlib.import_module(f"{__name__}.{name}")
        found += [
            kind
            for kind in vars(module).values()
            if isinstance(kind, type) and issubclass(kind, Format) and kind.__module__ == module.__name__
        ]
    return tuple(sorted(found, key=lambda kind: kind.ORDER))
