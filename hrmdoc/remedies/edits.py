"""Edits of the user's files: a key is changed where it stands, or added where it is known to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hrmdoc.errors import PatchError, UnknownKeyError
from hrmdoc.remedies import bound, switches
from hrmdoc.remedies.editors.document import Leaf, Route, Wanted, dotted, verify
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument, override
from hrmdoc.remedies.editors.scalars import Plain, render, same
from hrmdoc.remedies.effects import Effect, check_effects
from hrmdoc.remedies.patch import FileEdit, KeyChange
from hrmdoc.remedies.places import Places
from hrmdoc.remedies.spelled import Spelled
from hrmdoc.roles.nested import loose
from hrmdoc.rulebook import Change, ConfigKey, Framework

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hrmdoc.remedies.files import Source
    from hrmdoc.remedies.places import Found, Place


class Edits:
    """What is changed so far, and what the user should know of it.

    Args:
        facts: canonical facts of the run.
        sources: the config files, of which the first that holds a key decides.
        common: spellings of any training code.
        options: what programs beside the files declare as options, by the names of their values.
        assigned: the names to which those programs give values.
    """

    def __init__(
        self,
        facts: Mapping[str, Any],
        framework: Framework,
        sources: Sequence[Source],
        common: Framework | None = None,
        options: Mapping[str, str] | None = None,
        assigned: Mapping[str, str] | None = None,
    ) -> None:
        self.facts = facts
        self._options, self._assigned = options or {}, assigned or {}
        self.framework = framework
        self._common = framework if common is None else common
        self._places = Places(sources)
        self.notes: list[str] = []
        self._spelled = Spelled(facts, framework, self._common, self._places, self.notes)
        self.changes: list[KeyChange] = []
        self._words: list[str] = []
        self._effects: dict[str, Effect] = {}
        self._bare = False

    def _set(self, change: Change, key: ConfigKey, own: Plain) -> None:
        found = self._places.lookup(key)
        if found is None:
            self._add(change, key, own)
            return
        before = found.value(key.type)
        if before is not None and same(before, own):
            self.notes.append(f"{found.name} is {before} already")
            return
        document = found.place.document
        leaf, path = document.leaves[found.route], dotted(found.route)
        if own is False and isinstance(document, OverridesDocument) and document.is_bare(found.route):
            self._leave_out(change, found, leaf)
            return
        text = document.replace(found.route, render(own, leaf.text))
        found.place.edit(found.route, Wanted(own, key.type), text)
        self._changed(KeyChange(change.key, str(found.place.source.path), path, before, own, leaf.line))
        self._words.append(self._word(found.name, own, leaf.text, found))

    def _leave_out(self, change: Change, found: Found, leaf: Leaf) -> None:
        """Switches off what a flag without a value switches on."""
        text = found.place.document.remove(found.route)
        found.place.edit(found.route, Wanted(None, "bool", gone=True), text)
        self._bare = True  # the switch that takes its place stands as it did
        path = dotted(found.route)
        self._changed(KeyChange(change.key, str(found.place.source.path), path, True, False, leaf.line))
        self.notes.append(f"--{path} is left out")

    def _add(self, change: Change, key: ConfigKey, own: Plain) -> None:
        """Sets a key that no file has."""
        if not key.insert:
            what = f"{self.framework.title} has no key for {change.key} that could be added"
            raise UnknownKeyError(what, hint="set it where the model or the data are made")
        before = self._spelled.now(change.key, key)[0]
        if before is not None and same(before, own):
            self.notes.append(f"{key.keys[0]} is {before} already, by default")
        elif self.files:
            self._insert(change, key, before, own)
        else:
            self._to_type(change, key, before, own)

    def _to_type(self, change: Change, key: ConfigKey, before: Plain, own: Plain) -> None:
        """A change that no file takes: for the command line, by the program's own option where it has one."""
        common = self._common.config.get(change.key, key)
        option = next(
            (self._options[name] for name in (*key.keys, *common.keys) if name in self._options), ""
        )
        own_name = (
            self._assigned[loose(name)] for name in (*key.keys, *common.keys) if loose(name) in self._assigned
        )
        name = option or next(own_name, key.keys[0])
        self.changes.append(KeyChange(change.key, "", name, before, own))
        self._words.append(override(option, own) if option else self._word(name, own, None))

    def _changed(self, change: KeyChange) -> None:
        self.changes.append(change)
        if not (change.key == bound.RATE and bound.is_peak(change.path)):
            self._effects[change.key] = Effect(change.path, change.after)

    def _insert(self, change: Change, key: ConfigKey, before: Plain, own: Plain) -> None:
        """Adds a key to a file of a program that is known to read it."""
        place = self._reader_of(change, key, own)
        name = self._declared(key) or self._spelled.spelling(place, key)
        route: Route = (name,) if place.flat else tuple(name.split("."))
        sections = [route[:size] for size in range(1, len(route))]
        if sum(section not in place.document.routes for section in sections) > 1:
            raise PatchError(
                f"{dotted(route)} needs a section that {place.source.path.name} does not have",
                hint="such sections have to name what they are for; add it by hand",
            )
        beside = place.known_to(self.framework) | place.known_to(self._common)
        place.edit(route, Wanted(own, key.type), place.insert(route, render(own), beside, bare=self._bare))
        self._changed(KeyChange(change.key, str(place.source.path), dotted(route), before, own))
        self._words.append(self._word(name, own, None))

    def _reader_of(self, change: Change, key: ConfigKey, own: Plain) -> Place:
        """The first file whose program is known to read the key: it is the framework's own config, or a
        command whose program declares the option.

        Raises:
            PatchError: there is none. A program that does not know a key may refuse to start, or pass it by.
        """
        for place in self._places.all:
            if (self.framework.id != "generic" and place.is_of(self.framework)) or (
                place.flat and self._declared(key)
            ):
                return place
        name = self._places.all[0].source.path.name
        raise PatchError(
            f"{name} has no key for {change.key}, and whether its program reads one is not known",
            hint=f"set it by hand, as {self._word(key.keys[0], own, None)}, where the program has it",
        )

    def _declared(self, key: ConfigKey) -> str:
        """The spelling of a key that a program beside the file declares as an option; "" for none."""
        return next((self._options[name].lstrip("-") for name in key.keys if name in self._options), "")

    def _remove(self, change: Change, key: ConfigKey) -> None:
        found = self._places.lookup(key)
        if found is None:
            self.notes.append(f"{key.keys[0]} is not set")
            return
        place, route, name = found
        leaf = place.document.leaves.get(route)
        before = None if leaf is None else leaf.text
        line = None if leaf is None else leaf.line
        place.edit(route, Wanted(None, key.type, gone=True), place.document.remove(route))
        self.changes.append(KeyChange(change.key, str(place.source.path), dotted(route), before, None, line))
        self._words.append(override(name, None))

    def _word(self, name: str, own: Plain, like: str | None, found: Found | None = None) -> str:
        """The change as it stands on a command line: as the file itself has it, where that is a command."""
        document = None if found is None else found.place.document
        if found is not None and isinstance(document, OverridesDocument):
            return override(document.as_typed(found.route), own, like)
        return override(switches.as_flag(self.framework.id, name), own, like)

    @property
    def files(self) -> bool:
        """Whether there is a file that could be changed."""
        return bool(self._places.all)

    def overrides(self) -> str:
        """All changes as words of a command line."""
        return " ".join(self._words)

    def edits(self) -> tuple[FileEdit, ...]:
        """The changed files, each read back and compared with what it was."""
        changed = [place for place in self._places.all if place.wanted]
        for place in changed:
            name = str(place.source.path)
            verify(name, parse(name, place.source.text), place.document, place.wanted)
            check_effects(name, place.document, self._effects, (self.framework, self._common))
        return tuple(
            FileEdit(place.source.path, place.source.blob, place.document.text.encode("utf-8"))
            for place in changed
        )
