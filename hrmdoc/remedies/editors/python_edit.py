"""Python source as a config: values in files of nothing but settings are spliced, those of programs only
read."""

from __future__ import annotations

import json

from hrmdoc.errors import InputError, PatchError
from hrmdoc.readers.support import python_settings
from hrmdoc.readers.support.python_syntax import Plain
from hrmdoc.remedies.editors.document import Leaf, Route, dotted
from hrmdoc.remedies.editors.scalars import Scalar

_WORDS = {"true": "True", "false": "False", "null": "None"}


def is_config(text: str) -> bool:
    """Whether Python source is nothing but settings, so that each value has one place."""
    try:
        return python_settings.read(text, "").config
    except InputError:
        return False


class PythonDocument:
    """The settings of one Python file. See `hrmdoc.remedies.editors.document.Document`.

    Raises:
        PatchError: no Python.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        try:
            found = python_settings.read(text, name)
        except InputError as error:
            raise PatchError(error.what, file=error.file, line=error.line, hint=error.hint) from error
        self._config = found.config
        self._values = found.values
        self.leaves: dict[Route, Leaf] = {}
        for route, one in found.values.items():
            written = text[one.start : one.end] if one.start >= 0 and not isinstance(one.value, str) else None
            self.leaves[route] = Leaf(_tag(one.value), written or str(one.value), one.line)
        self.routes: set[Route] = {route[:size] for route in self.leaves for size in range(1, len(route) + 1)}

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another value under a name of a config.

        Raises:
            PatchError: the file is a program, or computes the value.
        """
        one = self._values[route]
        if not self._config or one.start < 0:
            what = "is set in code" if not self._config else "is computed"
            raise PatchError(
                f"{dotted(route)} {what}", file=self.name, line=one.line, hint="change it by hand"
            )
        old = self.text[one.start : one.end]
        return self.text[: one.start] + _spelled(value, old[:1]) + self.text[one.end :]

    def insert(self, route: Route, value: Scalar) -> str:
        """The text with one more name at its end.

        Raises:
            PatchError: the file is a program, or the route is none of a name.
        """
        if not self._config or len(route) > 1 or not str(route[0]).isidentifier():
            raise PatchError(
                f"{dotted(route)} has no place in this file", file=self.name, hint="set it by hand"
            )
        newline = "\r\n" if "\r\n" in self.text else "\n"
        gap = "" if not self.text or self.text.endswith(("\n", "\r")) else newline
        return f"{self.text}{gap}{route[0]} = {_spelled(value)}{newline}"

    def remove(self, route: Route) -> str:
        """The text with None instead of a value: a name that code behind it asks for must stay.

        Raises:
            PatchError: the file is a program, or computes the value.
        """
        return self.replace(route, Scalar("null"))


def _tag(value: Plain) -> str:
    if value is None:
        return "null"
    return "bool" if isinstance(value, bool) else "str" if isinstance(value, str) else "number"


def _spelled(value: Scalar, quote: str = "") -> str:
    """The value as Python writes it, in the quotes of the one before."""
    if not value.string:
        return _WORDS.get(value.text, value.text)
    return json.dumps(value.text) if quote == '"' else repr(value.text)
