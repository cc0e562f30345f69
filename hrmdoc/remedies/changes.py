"""The changes of one remedy in the user's files, each with what is bound to it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hrmdoc.errors import PatchError
from hrmdoc.remedies import bound, switches, values
from hrmdoc.remedies.editors.document import Route, dotted
from hrmdoc.remedies.editors.scalars import Plain, read, rounded, same
from hrmdoc.remedies.edits import Edits
from hrmdoc.remedies.patch import KeyChange
from hrmdoc.rulebook import Change, ConfigKey

if TYPE_CHECKING:
    from collections.abc import Collection

    from hrmdoc.remedies.places import Found, Place


class Planner(Edits):
    """Takes the changes of a remedy one by one. See `hrmdoc.remedies.edits.Edits`."""

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
            bound_one = Change(name, "set", value)
            self._set(bound_one, self._spelled.key(bound_one), value)

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
            self._set(Change("schedule.min_lr", "set"), floor, rounded(float(str(new)) * 0.1))

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
