"""From a remedy to a patch of the user's own file: find the keys, compute the values, splice, read back,
compare.

Nothing here writes; see `hrmdoc.remedies.store`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hrmdoc.errors import PatchError, UnchangedError, UnknownKeyError
from hrmdoc.remedies import files, python_text, switches, values
from hrmdoc.remedies.editors.document import Route, Wanted, dotted, verify
from hrmdoc.remedies.editors.formats import parse
from hrmdoc.remedies.editors.overrides import OverridesDocument, override
from hrmdoc.remedies.editors.scalars import Plain, render, same
from hrmdoc.remedies.effects import Effect, check_effects
from hrmdoc.remedies.patch import FileEdit, KeyChange, Patch
from hrmdoc.remedies.places import Places
from hrmdoc.remedies.spelled import Spelled
from hrmdoc.rulebook import Change, ConfigKey, Framework, Remedy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hrmdoc.remedies.files import Source
    from hrmdoc.remedies.places import Found


def plan(
    remedy: Remedy,
    facts: Mapping[str, Any],
    framework: Framework,
    config_files: Sequence[str | Path],
    common: Framework | None = None,
    *,
    record: str = "",
) -> Patch:
    """What `remedy` changes in `config_files`, of which the first that holds a key is the one where it is
    changed.

    Args:
        facts: canonical facts of the run (`optimizer.lr`, ...), for values that are computed and for those
            that no file holds.
        common: spellings of any training code, for a config file that is not in the framework's own words.
        record: why `config_files` must not be changed, where they only record what the run had: then the
            patch gives words for the command line alone.

    Raises:
        PatchError: the remedy is no patch, the framework does not know a key, a value is out of bounds or has
            that value already, no config file was found, or the edit would change anything else.
    """
    _check_suits(remedy, framework)
    paths = [Path(path) for path in config_files]
    code = [path for path in paths if python_text.is_program(path)]
    sources = [files.read(path) for path in paths if path not in code]
    planner = _Planner(facts, framework, sources, common, python_text.options(code))
    for change in remedy.changes:
        try:
            planner.take(change)
        except PatchError:
            if not change.optional:
                raise
    return _patch(remedy, planner, code, record)


def _check_suits(remedy: Remedy, framework: Framework) -> None:
    """Refuses a remedy that is no patch, or one for another framework."""
    if remedy.kind != "patch" or not remedy.changes:
        raise PatchError(f"the remedy {remedy.id} is done by hand or on the live run; it changes no config")
    if remedy.frameworks and framework.id not in remedy.frameworks:
        raise PatchError(
            f"the remedy {remedy.id} is for {', '.join(remedy.frameworks)}, not for {framework.title}"
        )


def _patch(remedy: Remedy, planner: _Planner, code: Sequence[Path], record: str) -> Patch:
    """What the planner has come to, read back from the changed files."""
    if not planner.changes:
        raise UnchangedError(f"nothing to change: {'; '.join(planner.notes)}")
    overrides = planner.overrides()
    if not planner.files and not code:
        raise PatchError("no config file found", hint=f"name it, or add to the command: {overrides}")
    if record:
        raise PatchError(record, hint=f"name the file with --config, or add to the command: {overrides}")
    paste = (
        ""
        if planner.files
        else python_text.text_to_paste(planner.framework.id, {one.path: one.after for one in planner.changes})
    )
    if paste:
        planner.notes += python_text.places(code, [one.path for one in planner.changes])
    return Patch(
        remedy.id, remedy.title, remedy.risk, remedy.why, planner.framework.id,
        tuple(planner.changes), planner.edits(), overrides, paste, tuple(planner.notes),
    )  # fmt: skip


class _Planner:
    def __init__(
        self,
        facts: Mapping[str, Any],
        framework: Framework,
        sources: Sequence[Source],
        common: Framework | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.facts = facts
        self._options = options or {}
        self.framework = framework
        self._common = framework if common is None else common
        self._places = Places(sources)
        self.notes: list[str] = []
        self._spelled = Spelled(facts, framework, self._common, self._places, self.notes)
        self.changes: list[KeyChange] = []
        self._words: list[str] = []
        self._effects: dict[str, Effect] = {}

    def take(self, change: Change) -> None:
        """Adds one change of a remedy; one that is so already is noted and passed over."""
        key = self._spelled.key(change)
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
        leaf, path = found.place.document.leaves[found.route], dotted(found.route)
        text = found.place.document.replace(found.route, render(own, leaf.text))
        found.place.edit(found.route, Wanted(own, key.type), text)
        self._changed(KeyChange(change.key, str(found.place.source.path), path, before, own, leaf.line))
        self._words.append(self._word(found.name, own, leaf.text, found))

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
        name = option or key.keys[0]
        self.changes.append(KeyChange(change.key, "", name, before, own))
        self._words.append(override(option, own) if option else self._word(name, own, None))

    def _changed(self, change: KeyChange) -> None:
        self.changes.append(change)
        self._effects[change.key] = Effect(change.path, change.after)

    def _insert(self, change: Change, key: ConfigKey, before: Plain, own: Plain) -> None:
        place = self._places.all[0]
        name = self._spelled.spelling(place, key)
        route: Route = (name,) if place.flat else tuple(name.split("."))
        if self.framework.id == "generic":
            self.notes.append(f"{name} is new in {place.source.path.name}: check that the program knows it")
        place.edit(route, Wanted(own, key.type), place.document.insert(route, render(own)))
        self._changed(KeyChange(change.key, str(place.source.path), dotted(route), before, own))
        self._words.append(self._word(name, own, None))

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
