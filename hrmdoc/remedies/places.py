"""The config files of a run while changes are planned: where each key stands, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Document, Route, Wanted, dotted, find
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument
from hrmdoc.remedies.editors.scalars import Kind, Plain, read
from hrmdoc.remedies.files import Source
from hrmdoc.roles.nested import ANYWHERE, nested
from hrmdoc.rulebook import ConfigKey


@dataclass(slots=True)
class Place:
    """A file, its document as changed so far, and the routes that were asked for."""

    source: Source
    document: Document
    wanted: dict[Route, Wanted]

    def route(self, key: str) -> Route | None:
        """Where the file has `key`; a file of a Hydra group (`arch/hrm_v1.yaml`) holds its keys without the
        group."""
        found = find(self.document, key)
        group = self.source.path.absolute().parent.name + "."
        return (
            find(self.document, key.removeprefix(group)) if found is None and key.startswith(group) else found
        )

    @property
    def flat(self) -> bool:
        """Whether the document's keys are never nested, as in a list of overrides."""
        return isinstance(self.document, OverridesDocument)

    def edit(self, route: Route, want: Wanted, text: str) -> None:
        """Takes over the text of an edit that is to give `want` at `route`."""
        self.wanted[route] = want
        self.document = parse(str(self.source.path), text)


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
