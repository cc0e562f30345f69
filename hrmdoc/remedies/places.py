"""The config files of a run while changes are planned: where each key stands, and what it says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Document, Route, Wanted, dotted, find
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument
from hrmdoc.remedies.editors.scalars import Kind, Plain, Scalar, read
from hrmdoc.remedies.files import Source
from hrmdoc.roles.nested import ANYWHERE, loose, nested
from hrmdoc.rulebook import ConfigKey, Framework

_ENOUGH = 2
"""So many keys of a framework, if they are half of all, say that a file is its config."""


@dataclass(slots=True)
class Place:
    """A file, its document as changed so far, and the routes that were asked for."""

    source: Source
    document: Document
    wanted: dict[Route, Wanted]
    _loosely: dict[str, list[Route]] = field(default_factory=dict)

    def route(self, key: str) -> Route | None:
        """Where the file has `key`; a file of a Hydra group (`arch/hrm_v1.yaml`) holds its keys without the
        group."""
        found = find(self.document, key)
        group = self.source.path.absolute().parent.name + "."
        if found is None and key.startswith(group):
            found = find(self.document, key.removeprefix(group))
        return self._spelled_otherwise(key) if found is None else found

    def _spelled_otherwise(self, key: str) -> Route | None:
        """Where a key stands that differs in case and hyphens alone, as `--learning-rate` and `LR` do."""
        if not self._loosely:
            for route in self.document.leaves:
                self._loosely.setdefault(loose(dotted(route)), []).append(route)
        found = self._loosely.get(loose(key), [])
        return found[0] if len(found) == 1 else None

    def known_to(self, framework: Framework) -> set[str]:
        """The routes, as one writes them, that this framework has a setting for."""
        names = {loose(name) for spelling in framework.config.values() for name in spelling.keys}
        return {name for route in self.document.leaves if loose(name := dotted(route)) in names}

    def is_of(self, framework: Framework) -> bool:
        """Whether the file is a config of this framework, so that it reads whatever key it has: the file
        bears one of its marks, or is made of its keys for the most part."""
        names = {dotted(route) for route in self.document.leaves}
        for marker in framework.markers:
            kind, _, keys = marker.partition(":")
            if kind == "config" and all(_has(names, key) for key in keys.split(",")):
                return True
        known = self.known_to(framework)
        return len(known) >= _ENOUGH and 2 * len(known) >= len(names)

    @property
    def flat(self) -> bool:
        """Whether the document's keys are never nested, as in a list of overrides."""
        return isinstance(self.document, OverridesDocument)

    def insert(self, route: Route, value: Scalar, beside: Collection[str], *, bare: bool) -> str:
        """The text with a new key; in a script, in the command that has one of the keys `beside`."""
        if isinstance(self.document, OverridesDocument):
            return self.document.insert(route, value, beside, bare=bare)
        return self.document.insert(route, value)

    def edit(self, route: Route, want: Wanted, text: str) -> None:
        """Takes over the text of an edit that is to give `want` at `route`."""
        self.wanted[route] = want
        self._loosely = {}
        self.document = parse(str(self.source.path), text)


def _has(names: Collection[str], key: str) -> bool:
    return key in names or (key.endswith(".") and any(name.startswith(key) for name in names))


class Found(NamedTuple):
    """A key where it stands: the file, the route in it, and the spelling that was found."""

    place: Place
    route: Route
    name: str

    def value(self, kind: Kind) -> Plain:
        """What stands there, None where it is empty.

        Raises:
            PatchError: it is a section, or no value of that kind (`auto`, an interpolation).
        """
        leaf = self.place.document.leaves.get(self.route)
        where, file = dotted(self.route), self.place.source.path
        if leaf is None or leaf.tag == "[]":
            raise PatchError(f"{where} holds a section or a list, not a value", file=file)
        try:
            return read(leaf.text, kind) if leaf.tag != "{}" else None
        except ValueError as error:
            hint = (
                "it is set by another file or by the trainer" if leaf.text == "auto" else "change it by hand"
            )
            raise PatchError(f"{where}: {error}", file=file, line=leaf.line, hint=hint) from error


class Places:
    """All config files of a run, the first of which that holds a key decides."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.all = [Place(source, parse(str(source.path), source.text), {}) for source in sources]

    def find(self, name: str) -> Found | None:
        """Where a key of this spelling stands, None where it does not."""
        routes = ((place, place.route(name)) for place in self.all)
        return next((Found(place, route, name) for place, route in routes if route is not None), None)

    def lookup(self, key: ConfigKey) -> Found | None:
        """Where the setting stands, by the first of its spellings that a file has."""
        return next((found for name in key.keys if (found := self.find(name))), None)

    def nested_key(self, canonical: str, key: ConfigKey) -> ConfigKey | None:
        """The key where it stands in a section of any name.

        Raises:
            PatchError: it stands in several, and which one the run took cannot be told.
        """
        if canonical not in ANYWHERE:
            return None
        paths = nested(key.keys, [dotted(route) for place in self.all for route in place.document.leaves])
        if len(paths) > 1:
            raise PatchError(
                f"{canonical} may be any of {', '.join(paths)}", hint="change the one that is meant"
            )
        return msgspec.structs.replace(key, keys=tuple(paths)) if paths else None
