"""Edits JSON, also with comments and trailing commas, by splicing text at the positions of its values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Leaf, Route, dotted
from hrmdoc.remedies.editors.scalars import Scalar, quoted
from hrmdoc.text import patterns

_BLANK = patterns.lazy(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = patterns.lazy(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = patterns.lazy(r"-?(?:Infinity|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|NaN|true|false|null")
_DEEPEST = 100


@dataclass(slots=True)
class _Node:
    """One value and where its text lies; `members` holds key start, route part and node, for objects and
    arrays."""

    kind: str
    start: int
    end: int = 0
    members: list[tuple[int, str | int, _Node]] = field(default_factory=list)


class JsonDocument:
    """One JSON object. See `hrmdoc.remedies.editors.document.Document`.

    Raises:
        PatchError: not JSON, not an object, a duplicate key.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.leaves: dict[Route, Leaf] = {}
        self.routes: set[Route] = set()
        self._nodes: dict[Route, _Node] = {}
        self._root = self._value(self._skip(0), 0)
        end = self._skip(self._root.end)
        if end != len(text):
            raise self._error("text after the end of the JSON value", end)
        if self._root.kind != "{}":
            raise self._error("the file does not hold an object of keys and values", 0)
        self._walk((), self._root)

    def _error(self, what: str, at: int) -> PatchError:
        return PatchError(f"not valid JSON: {what}", file=self.name, line=self._line(at))

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        assert found is not None  # the pattern matches the empty string
        return found.end()

    def _value(self, at: int, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise self._error("nested too deeply", at)
        head = self.text[at : at + 1]
        if head in {"{", "["}:
            return self._container(at, depth, "}" if head == "{" else "]")
        found = (_STRING if head == '"' else _WORD).match(self.text, at)
        if found is None:
            raise self._error(
                f"expected a value, found {head!r}" if head else "the text ends in the middle", at
            )
        kind = (
            "str"
            if head == '"'
            else "null"
            if found[0] == "null"
            else "bool"
            if found[0] in {"true", "false"}
            else "number"
        )
        return _Node(kind, at, found.end())

    def _container(self, at: int, depth: int, close: str) -> _Node:
        node = _Node("{}" if close == "}" else "[]", at)
        at = self._skip(at + 1)
        while self.text[at : at + 1] != close:
            start, part = at, len(node.members)
            key: str | int = part
            if close == "}":
                key, at = self._key(at)
                if any(key == other for _, other, _ in node.members):
                    raise self._error(f"the key {key!r} is there twice", start)
            inner = self._value(self._skip(at), depth + 1)
            node.members.append((start, key, inner))
            at = self._skip(inner.end)
            if self.text[at : at + 1] == ",":
                at = self._skip(at + 1)
            elif self.text[at : at + 1] != close:
                raise self._error(
                    f"expected a comma or {close!r}"
                    if at < len(self.text)
                    else "the text ends in the middle",
                    at,
                )
        node.end = at + 1
        return node

    def _key(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self._error(
                "expected a key in double quotes" if at < len(self.text) else "the text ends in the middle",
                at,
            )
        colon = self._skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self._error("expected a colon after the key", colon)
        return self._decoded(found[0], at), colon + 1

    def _decoded(self, text: str, at: int) -> str:
        try:
            return str(json.loads(text))
        except ValueError as error:
            raise self._error("a bad escape in a string", at) from error

    def _walk(self, route: Route, node: _Node) -> None:
        if route:
            self.routes.add(route)
            self._nodes[route] = node
        for _, key, inner in node.members:
            self._walk((*route, key), inner)
        if route and not node.members:
            text = self.text[node.start : node.end]
            value = (
                self._decoded(text, node.start)
                if node.kind == "str"
                else ""
                if node.kind in {"{}", "[]"}
                else text
            )
            self.leaves[route] = Leaf(node.kind, value, self._line(node.start))

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another scalar at `route`."""
        node = self._nodes[route]
        if node.members:
            raise PatchError(
                f"{dotted(route)} holds a section or a list, not a value",
                file=self.name,
                line=self._line(node.start),
            )
        return self.text[: node.start] + self._literal(value, node) + self.text[node.end :]

    def _literal(self, value: Scalar, node: _Node) -> str:
        """Quotes stay around a number that was written as a string; a word gives way to a number."""
        was_number = node.kind == "str" and any(
            letter.isdigit() for letter in self.text[node.start : node.end]
        )
        return quoted(value.text) if value.string or was_number else value.text

    def insert(self, route: Route, value: Scalar) -> str:
        """The text with a new key after the last one of its section; missing sections are made."""
        depth = next(
            size for size in range(len(route) - 1, -1, -1) if size == 0 or route[:size] in self.routes
        )
        node = self._nodes[route[:depth]] if depth else self._root
        parent, missing = route[:depth], [str(part) for part in route[depth:]]
        text = quoted(value.text) if value.string else value.text
        for name in reversed(missing[1:]):
            text = f"{{{quoted(name)}: {text}}}"
        text = f"{quoted(missing[0])}: {text}"
        if node.kind == "null" or (node.kind == "{}" and not node.members):
            return self._into_empty(node, text)
        if node.kind != "{}":
            raise PatchError(
                f"{dotted(parent)} holds no section to add {missing[0]} to",
                file=self.name,
                line=self._line(node.start),
            )
        start, _, last = node.members[-1]
        begin = self.text.rfind("\n", 0, start) + 1
        indent = self.text[begin:start]
        if begin > node.start and not indent.strip():
            newline = "\r\n" if self.text[begin - 2 : begin] == "\r\n" else "\n"
            return f"{self.text[: last.end]},{newline}{indent}{text}{self.text[last.end :]}"
        return f"{self.text[: last.end]}, {text}{self.text[last.end :]}"

    def _into_empty(self, node: _Node, member: str) -> str:
        """An empty section gets one line; comments inside it stay."""
        if node.kind == "null":
            return self.text[: node.start] + f"{{{member}}}" + self.text[node.end :]
        return self.text[: node.start + 1] + member + self.text[node.start + 1 :]

    def remove(self, route: Route) -> str:
        """The text without the member at `route` and without its comma."""
        parent = self._nodes[route[:-1]] if len(route) > 1 else self._root
        index = next(place for place, (_, key, _) in enumerate(parent.members) if key == route[-1])
        start, _, node = parent.members[index]
        if parent.kind == "[]" or len(parent.members) == 1:
            raise PatchError(
                f"{dotted(route)} cannot be removed alone",
                file=self.name,
                line=self._line(start),
                hint="edit by hand",
            )
        if index + 1 < len(parent.members):
            return self.text[:start] + self.text[parent.members[index + 1][0] :]
        return self.text[: parent.members[index - 1][2].end] + self.text[node.end :]
