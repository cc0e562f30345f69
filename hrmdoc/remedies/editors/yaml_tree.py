"""A YAML document as routes with the positions that ruamel.yaml gives: what stands where in the text."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Leaf, Route, dotted

_COLON = re.compile(r"\s*:")
_MOST_LEAVES = 100_000
_DEEPEST = 100
_CORE = "tag:yaml.org,2002:"


class Entry:
    """One route: its key and value nodes, and whether the value stands here or is an alias of another
    place."""

    __slots__ = ("alias", "key", "value")

    def __init__(self, key: Node | None, value: Node, alias: bool) -> None:
        self.key = key
        self.value = value
        self.alias = alias


class YamlTree:
    """One YAML document, its values by their routes.

    Raises:
        PatchError: not YAML, several documents, a duplicate key, or more values than a config has.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.leaves: dict[Route, Leaf] = {}
        self.routes: set[Route] = set()
        self._entries: dict[Route, Entry] = {}
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
                self._entries[*route, index] = Entry(None, value, here)
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
        self._entries[inner] = Entry(key, value, here)
        self._walk(inner, value, here)

    def _own(self, route: Route, entry: Entry) -> Any:
        if entry.alias:
            raise PatchError(
                f"{dotted(route)} is shared with another place by an alias",
                file=self.name,
                line=line_of(entry.key or entry.value),
                hint="give it a value of its own, or change the anchor by hand",
            )
        return entry.value

    def _after_colon(self, route: Route, entry: Entry) -> int:
        found = _COLON.match(self.text, entry.key.end_mark.index) if entry.key is not None else None
        if found is None:
            raise PatchError(
                f"the empty value of {dotted(route)} has no place to write to",
                file=self.name,
                line=line_of(entry.value),
            )
        return found.end()

    def _end(self, entry: Entry) -> int:
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
                return self._after_colon((), Entry(key, node, alias=False))
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


def line_of(node: Any) -> int:
    """The 1-based line on which a node begins."""
    return int(node.start_mark.line) + 1
