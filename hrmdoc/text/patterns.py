"""Regular expressions that are compiled when they are first used: most runs need few of those that readers
know."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub")


class _Lazy:
    """Stands in for a pattern; after the first use its methods are those of the compiled one, at the same
    cost."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there yet."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(self, name)


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but done when the pattern is first used. For patterns that most runs do not need.

    Raises:
        re.error: on first use, where `text` is no regular expression.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(text, flags))
