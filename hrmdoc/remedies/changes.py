"""The changes of one remedy in the user's files: each key where it stands, or where it is known to be read, with
what is bound to it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hrmdoc.errors import PatchError, UnknownKeyError
from hrmdoc.remedies import bound, switches, values
from hrmdoc.remedies.editors.document import Leaf, Route, Wanted, dotted, verify
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument, override
from hrmdoc.remedies.editors.scalars import Plain, read, render, same
from hrmdoc.remedies.effects import Effect, check_effects
from hrmdoc.remedies.patch import FileEdit, KeyChange
from hrmdoc.remedies.places import Places
from hrmdoc.remedies.spelled import Spelled
from hrmdoc.roles.nested import loose
from hrmdoc.rulebook import Change, ConfigKey, Framework

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hrmdoc.remedies.files import Source
    from hrmdoc.remedies.places import Found, Place


class Planner:
    """Takes the changes of a remedy one by one.

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

    def take(self, change: Change, together: Collection[str] = ()) -> None:
        """Adds one change of a remedy; one that is so already is noted and passed over.

        Args:
            together: the canonical keys that the whole remedy changes.
        """
        if change.key == bound.TIMES and self._is_left_over():
            if bound.MICRO in together:
                self.notes.append("the accumulation follows from the batch sizes in the file")
                return
            change = Change(bound.TOTAL, change.op, change.value)
        key = self._key(change)
        if switches.is_wanted(change, key):
            held = {name for name in key.keys if self._places.find(name) is not None}
            # the one that is on comes last: the file is read again for what that one stands for
            for name, on in sorted(
                switches.settings(key, change.value, held).items(), key=lambda one: one[1]
            ):
                self._set(change, ConfigKey((name,), "bool"), on)
            return
        key = self._spelled.in_own_words(key)
        if switches.is_patience(key):
            key, change = switches.as_patience(key, change)
        before, canonical = self._spelled.now(change.key, key)
        if switches.is_patience(key) and before and change.value:
            self.notes.append(f"{key.keys[0]} is {before} already")
        elif change.op == "remove":
            self._remove(change, key)
        else:
            self._change(change, key, before, canonical)

    def _key(self, change: Change) -> ConfigKey:
        """The setting as the files spell it.

        Raises:
            PatchError: which of several is meant cannot be told.
        """
        key = self._spelled.key(change)
        if change.key != bound.RATE:
            return key
        for place in self._places.all:
            rivals = bound.rivals(place)
            if self.framework.id == "generic" and len(rivals) > 1:
                what = f"{change.key} may be any of {', '.join(rivals)}"
                raise PatchError(what, file=place.source.path, hint="change the one that is meant")
            peak = bound.peak(place)
            if peak and (self._places.lookup(key) is None or self._had(place, peak)):
                return ConfigKey((dotted(peak),))
        return key

    def _had(self, place: Place, route: Route) -> bool:
        """Whether the run had the rate that stands at a route, and which its config does not say first."""
        leaf, had = place.document.leaves[route], self.facts.get(bound.RATE)
        with suppress(ValueError):
            return f"{bound.RATE}_stated" in self.facts and same(read(leaf.text, "float"), had)
        return False

    def settle(self) -> None:
        """Adds what is bound to the changes so far: the other rates of a schedule, and the batch sizes of
        which one is the product of the others."""
        for change in list(self.changes):
            place = next((one for one in self._places.all if str(one.source.path) == change.file), None)
            if change.key == bound.RATE and place is not None:
                self._settle_rates(place, change)
        before = {key: found.value("int") for key, found in self._sizes().items()}
        after = {one.key: one.after for one in self.changes if one.file}
        old = {**before, **{one.key: one.before for one in self.changes if one.key in before}}
        for name, value in bound.sizes(old, after).items():
            change = Change(name, "set", value)
            self._set(change, self._spelled.key(change), value)

    def _settle_rates(self, place: Place, change: KeyChange) -> None:
        now, new = change.before, change.after
        numbers = isinstance(now, int | float) and isinstance(new, int | float)
        if not numbers or change.line is None or float(str(now)) <= 0:
            return
        route = next(one for one in place.wanted if dotted(one) == change.path)
        found = bound.rates(place, route, float(str(now)), float(str(new)))
        self.notes += found.notes
        for one in found.moved:
            self._set(Change("schedule.rate", "set", one.value), ConfigKey((dotted(one.route),)), one.value)
        floor = self.framework.config.get("schedule.min_lr")
        least = self.framework.defaults.get(floor.keys[0]) if floor is not None else None
        if floor and isinstance(least, float) and least > float(str(new)) and not self._places.lookup(floor):
            self._set(Change("schedule.min_lr", "set"), floor, values.rounded(float(str(new)) * 0.1))

    def _is_left_over(self) -> bool:
        """Whether the program computes the accumulation from the batch sizes in the file."""
        held = self._sizes()
        return bound.TOTAL in held and bound.MICRO in held and bound.TIMES not in held

    def _sizes(self) -> dict[str, Found]:
        """Where the batch sizes stand that are numbers."""
        held: dict[str, Found] = {}
        for name in (bound.MICRO, bound.TIMES, bound.TOTAL):
            for framework in (self.framework, self._common):
                key = framework.config.get(name)
                found = None if key is None else self._places.lookup(key)
                leaf = None if found is None else found.place.document.leaves.get(found.route)
                one = found is not None and all(found.route != other.route for other in held.values())
                if found is not None and leaf is not None and leaf.text.isdigit() and one:
                    held.setdefault(name, found)
        return held

    def _change(self, change: Change, key: ConfigKey, before: Plain, canonical: Plain) -> None:
        new = values.changed(change, canonical, self.facts)
        if change.key == "precision" and isinstance(new, str):
            new = self._spelled.precision(key, new)
        if change.key == "schedule.warmup_steps" and not before and self._warmup_as_ratio(change, new):
            return
        self._set(change, key, values.to_own(new, key, before))

    def _warmup_as_ratio(self, change: Change, steps: Plain) -> bool:
        """Changes the warmup's share of the run where the file gives one: some programs refuse both, others
        prefer the steps."""
        key = self.framework.config.get("schedule.warmup_ratio")
        found = self._places.lookup(key) if key is not None else None
        total = self.facts.get("run.total_steps")
        if (
            key is None
            or found is None
            or not isinstance(steps, int | float)
            or not isinstance(total, int | float)
            or total <= 0
        ):
            return False
        ratio = found.value(key.type)
        if isinstance(ratio, int | float) and ratio >= steps / total:
            self.notes.append(f"{found.name} is {ratio} already")
        else:
            self._set(
                msgspec.structs.replace(change, key="schedule.warmup_ratio"),
                key,
                min(1.0, round(steps / total, 4)),
            )
        return True

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
