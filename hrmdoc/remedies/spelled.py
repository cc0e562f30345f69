"""How the user's files spell a setting, and what it is now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from hrmdoc.errors import PatchError, UnknownKeyError, did_you_mean
from hrmdoc.remedies import switches, values
from hrmdoc.remedies.editors.scalars import Plain, same
from hrmdoc.rulebook import Change, ConfigKey, Framework

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hrmdoc.remedies.places import Found, Place, Places


class Spelled:
    """The settings of a run by their canonical keys.

    Args:
        facts: canonical facts of the run, for what no file holds.
        framework: whose keys and defaults they are.
        common: spellings of any training code, for a file that is not in the framework's own words.
        places: the files.
        notes: takes what the user should know of a value.
    """

    def __init__(
        self,
        facts: Mapping[str, Any],
        framework: Framework,
        common: Framework,
        places: Places,
        notes: list[str],
    ) -> None:
        self._facts = facts
        self._framework = framework
        self._common = common
        self._places = places
        self._notes = notes

    def key(self, change: Change) -> ConfigKey:
        """The setting as the files spell it: in the framework's words, in common ones, in any section.

        Raises:
            UnknownKeyError: the framework has no key for it.
        """
        key = self._framework.config.get(change.key)
        other = self._common.config.get(change.key)
        if key is None and other is not None and self._places.lookup(other) is not None:
            return other  # a program that builds on the framework has keys of its own, in common words
        if key is None:
            raise UnknownKeyError(
                f"{self._framework.title} has no key for {change.key}",
                hint=did_you_mean(change.key, self._framework.config),
            )
        if other is None or self._places.lookup(key) is not None:
            return key
        return other if self._places.lookup(other) else self._places.nested_key(change.key, other) or key

    def now(self, canonical: str, key: ConfigKey) -> tuple[Plain, Plain]:
        """The value now, in own and in canonical units: from the file, from the run, from the framework's
        defaults."""
        fact = self._facts.get(canonical)
        if found := self._places.lookup(key):
            own = found.value(key.type)
            if own is not None:
                self._compare(canonical, found, own, values.to_canonical(own, key), fact)
                return own, values.to_canonical(own, key)
        if isinstance(fact, int | float | str):
            return values.to_own(fact, key, None) if key.type != "bool" or isinstance(
                fact, bool
            ) else None, fact
        return self._default(canonical, key)

    def _default(self, canonical: str, key: ConfigKey) -> tuple[Plain, Plain]:
        """What the framework does where the config says nothing; unknown as long as no config was read."""
        if not self._places.all:
            return None, None
        for name in key.keys:
            if name in self._framework.defaults:
                own = self._framework.defaults[name]
                return own, values.to_canonical(own, key)
        value: Plain = self._framework.defaults.get(canonical)
        return (None if value is None else values.to_own(value, key, None)), value

    def _compare(self, canonical: str, found: Found, own: Plain, value: Plain, fact: object) -> None:
        """Notes a run that did not take the value of its file: an override on its command line wins over the
        patch.

        Raises:
            PatchError: its log shows that it did not.
        """
        switch = isinstance(fact, bool) or isinstance(value, bool)  # patience 0 is early stopping off
        if (
            not switch
            and isinstance(fact, int | float | str)
            and isinstance(value, int | float)
            and not same(value, fact)
        ):
            place, _, name = found
            said = f"{place.source.path.name} says {name} = {own}"
            if f"{canonical}_stated" in self._facts:
                raise PatchError(
                    f"{said}, but the log shows {fact}: it is set elsewhere, and a change here does nothing",
                    hint="change it where it is set: the command line, the environment or the program",
                )
            self._notes.append(
                f"the run used {canonical} = {fact}, {said}: an override on the command line wins"
            )

    def in_own_words(self, key: ConfigKey) -> ConfigKey:
        """The key as the file spells its value: a word, such as `flash_attention_2`, or a plain switch. One
        that no file has is added as a word."""
        found = self._places.lookup(key) if key.words else None
        if found is None and key.words:
            return msgspec.structs.replace(key, type="str")
        said = None if found is None else found.place.document.leaves.get(found.route)
        if said is not None and said.text.strip("'\"") in key.words:
            return msgspec.structs.replace(key, type="str")
        return msgspec.structs.replace(key, words={}) if key.words else key

    def precision(self, key: ConfigKey, value: str) -> str:
        found = self._places.lookup(key)
        current = found.value("str") if found else self._framework.defaults.get(key.keys[0])
        return switches.spelling(
            found.name if found else key.keys[0], value, None if current is None else str(current)
        )

    def spelling(self, place: Place, key: ConfigKey) -> str:
        """Which spelling of a key to add: the one whose section holds most of the keys that this framework
        has."""
        known = {
            name
            for spelling in self._framework.config.values()
            for name in spelling.keys
            if place.route(name)
        }
        sections = Counter(name.rpartition(".")[0] for name in known)
        return max(key.keys, key=lambda name: sections[name.rpartition(".")[0]])
