"""Edits YAML by splicing text at the positions that ruamel.yaml gives, so that nothing else in the file
moves."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Leaf, Route, dotted
from hrmdoc.remedies.editors.scalars import NULLS, Scalar, plain_word, quoted

_PROPERTIES = re.compile(r"(?:(?:&\S+|!\S*)\s+)*")
_END_OF_LINE = re.compile(r"[^\r\n]*")
_MOST_LEAVES = 100_000
_DEEPEST = 100
_CORE = "tag:yaml.org,2002:"


class _Entry:
    """One route: its key and value nodes, and whether the value stands here or is an alias of another
    place."""

    __slots__ = ("alias", "key", "value")

    def __init__(self, key: Node | None, value: Node, alias: bool) -> None:
        self.key = key
        self.value = value
        self.alias = alias


class YamlDocument:
    """One YAML document. See `hrmdoc.remedies.editors.document.Document`.

    Raises:
        PatchError: not YAML, several documents, a duplicate key, or more values than a config has.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.leaves: dict[Route, Leaf] = {}
        self.routes: set[Route] = set()
        self._entries: dict[Route, _Entry] = {}
        self._root = self._compose()
        if self._root is not None:
            if not isinstance(self._root, MappingNode):
                raise PatchError("the file does not hold a mapping of keys to values", file=name, line=1)
            self._walk((), self._root, alias=False)

    def _compose(self) -> Node | None:
        try:
            root: Node | None = YAML(typ="rt", pure=True).compose(self.text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = f"{error.context}: {error.problem}" if error.context else f"{error.problem}"
            raise PatchError(
                f"not valid YAML: {what}", file=self.name, line=mark.line + 1 if mark else None
            ) from error
        except (YAMLError, RecursionError, ValueError) as error:
            what = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
            raise PatchError(f"not valid YAML: {what}", file=self.name) from error
        return root

    def _walk(self, route: Route, node: Node, alias: bool) -> None:
        if len(route) > _DEEPEST or len(self.leaves) > _MOST_LEAVES:
            raise PatchError("the file holds more values than a config has", file=self.name)
        if route:
            self.routes.add(route)
        if isinstance(node, ScalarNode):
            self._leaf(route, node, _tag(node), node.value)
        elif not node.value:
            self._leaf(route, node, "{}" if isinstance(node, MappingNode) else "[]", "")
        elif isinstance(node, MappingNode):
            for key, value in node.value:
                self._member(route, key, value, alias)
        else:
            for index, value in enumerate(node.value):
                here = alias or value.start_mark.index < node.start_mark.index
                self._entries[*route, index] = _Entry(None, value, here)
                self._walk((*route, index), value, here)

    def _leaf(self, route: Route, node: Node, tag: str, text: str) -> None:
        if route:
            self.leaves[route] = Leaf(tag, text, node.start_mark.line + 1)

    def _member(self, route: Route, key: Node, value: Node, alias: bool) -> None:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            raise PatchError(
                "a key that is itself a list or a mapping is not supported", file=self.name, line=line
            )
        inner = (*route, key.value)
        if inner in self._entries and key.value != "<<":
            raise PatchError(f"the key {dotted(inner)} is there twice", file=self.name, line=line)
        here = alias or value.start_mark.index < key.end_mark.index
        self._entries[inner] = _Entry(key, value, here)
        self._walk(inner, value, here)

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another scalar at `route`, in the quotes that it has."""
        entry = self._entries[route]
        node = self._own(route, entry)
        if not isinstance(node, ScalarNode) and node.value:
            raise PatchError(
                f"{dotted(route)} holds a section or a list, not a value", file=self.name, line=_line(node)
            )
        if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
            raise PatchError(
                f"{dotted(route)} is a block of text, not a value", file=self.name, line=_line(node)
            )
        if "${" in node.value if isinstance(node, ScalarNode) else False:
            raise PatchError(
                f"{dotted(route)} is computed from another key: {node.value}",
                file=self.name,
                line=_line(node),
            )
        start, end = node.start_mark.index, node.end_mark.index
        if start == end or (isinstance(node, ScalarNode) and node.style is None and not node.value):
            colon = self._after_colon(route, entry)
            return self.text[:colon] + " " + _literal(value) + self.text[colon:]
        properties = _PROPERTIES.match(self.text, start, end)
        assert properties is not None  # the pattern matches the empty string
        start = properties.end()
        return self.text[:start] + _restyled(node, value) + self.text[end:]

    def _own(self, route: Route, entry: _Entry) -> Any:
        if entry.alias:
            raise PatchError(
                f"{dotted(route)} is shared with another place by an alias",
                file=self.name,
                line=_line(entry.key or entry.value),
                hint="give it a value of its own, or change the anchor by hand",
            )
        return entry.value

    def _after_colon(self, route: Route, entry: _Entry) -> int:
        found = (
            re.compile(r"\s*:").match(self.text, entry.key.end_mark.index) if entry.key is not None else None
        )
        if found is None:
            raise PatchError(
                f"the empty value of {dotted(route)} has no place to write to",
                file=self.name,
                line=_line(entry.value),
            )
        return found.end()

    def insert(self, route: Route, value: Scalar) -> str:
        """The text with a new key at the end of its section's plain values; missing sections are made."""
        depth = next(
            size for size in range(len(route) - 1, -1, -1) if size == 0 or route[:size] in self.routes
        )
        parent, missing = route[:depth], [str(part) for part in route[depth:]]
        if depth == 0:
            if self._root is None or not self._root.value:
                return self._into_nothing(missing, value)
            return self._into_mapping(self._root, missing, value)
        entry = self._entries[parent]
        node = self._own(parent, entry)
        if isinstance(node, MappingNode) and node.value:
            return self._into_mapping(node, missing, value)
        if isinstance(node, SequenceNode) or (
            isinstance(node, ScalarNode) and node.value.lower() not in NULLS
        ):
            raise PatchError(
                f"{dotted(parent)} holds no section to add {missing[0]} to", file=self.name, line=_line(node)
            )
        return self.replace(parent, Scalar(_flow(missing, value), string=False))

    def _into_nothing(self, missing: list[str], value: Scalar) -> str:
        if self._root is not None:
            start, end = int(self._root.start_mark.index), int(self._root.end_mark.index)
            return self.text[:start] + _flow(missing, value) + self.text[end:]
        newline = self._newline()
        gap = "" if not self.text or self.text.endswith(("\n", "\r", "\ufeff")) else newline
        return self.text + gap + newline.join(_block(missing, value, 0, 2)) + newline

    def _into_mapping(self, node: Any, missing: list[str], value: Scalar) -> str:
        if node.flow_style:
            return self._into_flow(node, missing, value)
        first = node.value[0][0]
        column = int(first.start_mark.column)
        newline = self._newline()
        lines = _block(missing, value, column, self._indent_step())
        last = self._last_plain(node)
        if last is None:
            start = int(first.start_mark.index)
            text = (newline + " " * column).join(line[column:] for line in lines)
            return self.text[:start] + text + newline + " " * column + self.text[start:]
        found = _END_OF_LINE.match(self.text, last.end_mark.index)
        assert found is not None  # the pattern matches the empty string
        return self.text[: found.end()] + newline + newline.join(lines) + self.text[found.end() :]

    def _last_plain(self, node: Any) -> Node | None:
        """The last value of a mapping that stands on the line of its key."""
        for key, value in reversed(node.value):
            if (
                not isinstance(value, ScalarNode)
                or value.start_mark.index < key.end_mark.index
                or value.style in {"|", ">"}
            ):
                continue
            if value.value and value.end_mark.line == key.start_mark.line:
                return value
        return None

    def _into_flow(self, node: Any, missing: list[str], value: Scalar) -> str:
        key, last = node.value[-1]
        if last.start_mark.index < key.end_mark.index:
            raise PatchError(
                "a flow mapping that ends in an alias is not edited", file=self.name, line=_line(key)
            )
        end = last.end_mark.index
        if not last.value and last.start_mark.index == last.end_mark.index:
            end = self._after_colon((), _Entry(key, last, alias=False))
        name = quoted(missing[0]) if key.style == '"' else missing[0]
        text = f"{name}: {_literal(value) if len(missing) == 1 else _flow(missing[1:], value)}"
        return f"{self.text[:end]}, {text}{self.text[end:]}"

    def remove(self, route: Route) -> str:
        """The text without the lines, or the part of a flow mapping, that hold `route`."""
        entry = self._entries[route]
        parent: Any = self._root if len(route) == 1 else self._entries[route[:-1]].value
        if entry.key is None or len(parent.value) == 1:
            raise PatchError(
                f"{dotted(route)} cannot be removed alone",
                file=self.name,
                line=_line(entry.value),
                hint="edit by hand",
            )
        if len(route) > 1:
            self._own(route[:-1], self._entries[route[:-1]])
        keys = [key for key, _ in parent.value]
        index = keys.index(entry.key)
        start = entry.key.start_mark.index
        if parent.flow_style:
            if index + 1 < len(keys):
                return self.text[:start] + self.text[keys[index + 1].start_mark.index :]
            before = parent.value[index - 1][1].end_mark.index
            return self.text[:before] + self.text[entry.value.end_mark.index :]
        found = _END_OF_LINE.match(self.text, self._end(entry))
        assert found is not None  # the pattern matches the empty string
        end = found.end()
        lead = self.text.rfind("\n", 0, start) + 1
        if self.text[lead:start].strip("\ufeff ") and index + 1 < len(keys):
            return self.text[:start] + self.text[keys[index + 1].start_mark.index :]
        gap = re.compile(r"\r?\n|\r|\Z").match(self.text, end)
        return self.text[: start - entry.key.start_mark.column] + self.text[gap.end() if gap else end :]

    def _end(self, entry: _Entry) -> int:
        """Where the last character of a value stands, comments and blank lines after it not counted."""
        node: Any = entry.value
        if entry.alias or (isinstance(node, ScalarNode) and not node.value and node.style is None):
            return self._after_colon((), entry)
        while not isinstance(node, ScalarNode) and not node.flow_style:
            last = node.value[-1]
            key, node = last if isinstance(last, tuple) else (None, last)
            if key is not None and (
                node.start_mark.index < key.end_mark.index
                or (isinstance(node, ScalarNode) and not node.value)
            ):
                return self._after_colon((), _Entry(key, node, alias=False))
        end: int = node.end_mark.index
        return (
            len(self.text[:end].rstrip())
            if isinstance(node, ScalarNode) and node.style in {"|", ">"}
            else end
        )

    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent_step(self) -> int:
        """How many columns this file gives a section."""
        for route, entry in self._entries.items():
            if len(route) == 2 and entry.key is not None and not entry.alias:
                column: int = entry.key.start_mark.column
                parent = self._entries[route[:1]].value
                if isinstance(parent, MappingNode) and not parent.flow_style and column:
                    return column
        return 2


def _tag(node: Any) -> str:
    return str(node.tag).removeprefix(_CORE)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _literal(value: Scalar) -> str:
    return quoted(value.text) if value.string and not plain_word(value.text) else value.text


def _restyled(node: Any, value: Scalar) -> str:
    """The new value in the quotes of the old one, unless these held a word and the new value is none."""
    style = node.style if isinstance(node, ScalarNode) else None
    if style not in {"'", '"'} or (not value.string and not any(letter.isdigit() for letter in node.value)):
        return _literal(value)
    return quoted(value.text) if style == '"' else "'" + value.text.replace("'", "''") + "'"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else quoted(name)


def _flow(names: list[str], value: Scalar) -> str:
    text = _literal(value)
    for name in reversed(names):
        text = f"{{{_key(name)}: {text}}}"
    return text


def _block(names: list[str], value: Scalar, column: int, step: int) -> list[str]:
    lines = [" " * (column + step * depth) + f"{_key(name)}:" for depth, name in enumerate(names)]
    lines[-1] += f" {_literal(value)}"
    return lines
