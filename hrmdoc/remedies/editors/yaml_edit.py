"""Edits YAML by splicing text at the positions that ruamel.yaml gives, so that nothing else in the file
moves."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Route, dotted
from hrmdoc.remedies.editors.scalars import NULLS, Scalar, quoted
from hrmdoc.remedies.editors.yaml_text import block, flow, literal, restyled
from hrmdoc.remedies.editors.yaml_tree import Entry, YamlTree, line_of

_PROPERTIES = re.compile(r"(?:(?:&\S+|!\S*)\s+)*")
_END_OF_LINE = re.compile(r"[^\r\n]*")
_LINE_END = re.compile(r"\r?\n|\r|\Z")


class YamlDocument(YamlTree):
    """One YAML document. See `hrmdoc.remedies.editors.document.Document`."""

    def replace(self, route: Route, value: Scalar) -> str:
        """The text with another scalar at `route`, in the quotes that it has."""
        entry = self._entries[route]
        node = self._own(route, entry)
        if not isinstance(node, ScalarNode) and node.value:
            raise PatchError(
                f"{dotted(route)} holds a section or a list, not a value", file=self.name, line=line_of(node)
            )
        if isinstance(node, ScalarNode) and node.style in {"|", ">"}:
            raise PatchError(
                f"{dotted(route)} is a block of text, not a value", file=self.name, line=line_of(node)
            )
        if "${" in node.value if isinstance(node, ScalarNode) else False:
            raise PatchError(
                f"{dotted(route)} is computed from another key: {node.value}",
                file=self.name,
                line=line_of(node),
            )
        start, end = node.start_mark.index, node.end_mark.index
        if start == end or (isinstance(node, ScalarNode) and node.style is None and not node.value):
            colon = self._after_colon(route, entry)
            return self.text[:colon] + " " + literal(value) + self.text[colon:]
        properties = _PROPERTIES.match(self.text, start, end)
        assert properties is not None  # the pattern matches the empty string
        start = properties.end()
        return self.text[:start] + restyled(node, value) + self.text[end:]

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
                f"{dotted(parent)} holds no section to add {missing[0]} to",
                file=self.name,
                line=line_of(node),
            )
        return self.replace(parent, Scalar(flow(missing, value), string=False))

    def _into_nothing(self, missing: list[str], value: Scalar) -> str:
        if self._root is not None:
            start, end = int(self._root.start_mark.index), int(self._root.end_mark.index)
            return self.text[:start] + flow(missing, value) + self.text[end:]
        newline = self._newline()
        gap = "" if not self.text or self.text.endswith(("\n", "\r", "\ufeff")) else newline
        return self.text + gap + newline.join(block(missing, value, 0, 2)) + newline

    def _into_mapping(self, node: Any, missing: list[str], value: Scalar) -> str:
        if node.flow_style:
            return self._into_flow(node, missing, value)
        first = node.value[0][0]
        column = int(first.start_mark.column)
        newline = self._newline()
        lines = block(missing, value, column, self._indent_step())
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
                "a flow mapping that ends in an alias is not edited", file=self.name, line=line_of(key)
            )
        end = last.end_mark.index
        if not last.value and last.start_mark.index == last.end_mark.index:
            end = self._after_colon((), Entry(key, last, alias=False))
        name = quoted(missing[0]) if key.style == '"' else missing[0]
        text = f"{name}: {literal(value) if len(missing) == 1 else flow(missing[1:], value)}"
        return f"{self.text[:end]}, {text}{self.text[end:]}"

    def remove(self, route: Route) -> str:
        """The text without the lines, or the part of a flow mapping, that hold `route`."""
        entry = self._entries[route]
        parent: Any = self._root if len(route) == 1 else self._entries[route[:-1]].value
        if entry.key is None or len(parent.value) == 1:
            raise PatchError(
                f"{dotted(route)} cannot be removed alone",
                file=self.name,
                line=line_of(entry.value),
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
        gap = _LINE_END.match(self.text, end)
        return self.text[: start - entry.key.start_mark.column] + self.text[gap.end() if gap else end :]
