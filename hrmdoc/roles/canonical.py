"""Config values in many spellings -> facts under hrmdoc's own keys, with what follows from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hrmdoc.record.records import Fact
from hrmdoc.roles.classifier import take_classes
from hrmdoc.roles.follows import derive
from hrmdoc.roles.framework import chain, detect
from hrmdoc.roles.nested import ANYWHERE, loose, nested
from hrmdoc.roles.paced import take_pace
from hrmdoc.roles.values import at, converted
from hrmdoc.text import patterns
from hrmdoc.text.precisions import precision_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from hrmdoc.record.run import Run
    from hrmdoc.rulebook import ConfigKey, Framework, Rulebook

_ENOUGH_CONFIG = 3
"""A framework's defaults hold where so many of its keys were seen: then what is not set is default."""
_WITHOUT_REWARDS = frozenset({"rl.beta", "rl.max_completion_length", "rl.gamma"})
"""Settings that trainings by preferences have, too, or schedules, which know no rewards."""
_OF_EVOLUTION = frozenset(
    {"num_parents_mating", "sol_per_pop", "pop_size", "population_size", "mutation_rate"}
)
_FSDP = patterns.lazy(r"fsdp(?:_config)?(?:\.|\[|$)")
_ZERO_STAGE = patterns.lazy(r"zero[-_]?(?:stage)?[-_]?([0-3])")


def canonical(run: Run, book: Rulebook) -> dict[str, Fact]:
    """Every canonical fact that the run's own facts give, each with the file and line it came from.

    What a reader stated under a canonical key comes first, then the config keys of the framework that wrote
    the run, then those of all others, then common names in sections of any name; last what follows by
    arithmetic, and the defaults of the framework when its config was seen.
    """
    found = {key: _stated(fact) for (scope, key), fact in run.facts.items() if scope == "run"}
    name, _ = detect(run, book)
    if name:
        found["run.framework"] = Fact("run.framework", name, "run", _file_of(run, "run.framework"))
        if name in book.frameworks and book.frameworks[name].kind:
            found["run.framework_kind"] = Fact("run.framework_kind", book.frameworks[name].kind)
    config = _Config(fact for (scope, _), fact in run.facts.items() if scope == "config")
    frameworks = chain(name, book)
    found = config.read_all(frameworks, book.frameworks.get("generic")) | found
    if frameworks and frameworks[0].id == name and config.known(frameworks[0]) >= _ENOUGH_CONFIG:
        without = _without_default(run, found)
        _defaults(found, frameworks[0], without, config.chosen_by_the_program(frameworks[0]))
    _without_evolution(run, found)
    _logged(run, found)
    _sharding(found, (key for scope, key in run.facts if scope == "config"))
    take_pace(run, found)
    derive(found)
    take_classes(run, found)
    return found


def _without_evolution(run: Run, found: dict[str, Fact]) -> None:
    """Generations of a search by evolution are none of a language model."""
    if any(key in _OF_EVOLUTION for scope, key in run.facts if scope == "config"):
        found.pop("rl.num_generations", None)


def _sharding(found: dict[str, Fact], keys: Iterable[str]) -> None:
    """FSDP by the section that sets it up, and the ZeRO stage that the name of a DeepSpeed config says."""
    if "parallel.fsdp" not in found and any(_FSDP.match(key) for key in keys):
        found["parallel.fsdp"] = Fact("parallel.fsdp", True)
    named = found.get("parallel.deepspeed")
    stage = None if named is None else _ZERO_STAGE.search(str(named.value).lower())
    if named is not None and stage is not None and "parallel.zero_stage" not in found:
        found["parallel.zero_stage"] = at(named, "parallel.zero_stage", int(stage[1]))


def settings_of(
    facts: Iterable[Fact], frameworks: Sequence[Framework], anywhere: Framework | None = None
) -> dict[str, Fact]:
    """The canonical facts behind the config `facts`, as the spellings of `frameworks` read them; those of a
    framework win over those of the ones behind it. Common names of `anywhere` count in any section."""
    return _Config(facts).read_all(frameworks, anywhere)


def _logged(run: Run, found: dict[str, Fact]) -> None:
    """Adds the planned length where every row of a log repeats it."""
    for key, series in run.series.items():
        if (
            "run.total_steps" not in found
            and key.metric in ("total_steps", "max_steps")
            and series.values[-1] > 1
        ):
            file, line = series.place(-1)
            found["run.total_steps"] = Fact("run.total_steps", int(series.values[-1]), "run", file, line)


def _file_of(run: Run, key: str) -> str:
    fact = run.fact(key)
    return fact.file if fact else ""


def _stated(fact: Fact) -> Fact:
    if fact.key == "precision" and isinstance(fact.value, str):
        return at(fact, fact.key, precision_of(fact.value) or fact.value)
    return fact


class _Config:
    """The config facts of a run, found by exact key or by one that differs in case and hyphens only."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._exact = {fact.key: fact for fact in facts}
        self._loose = {loose(key): fact for key, fact in self._exact.items()}

    def get(self, key: str) -> Fact | None:
        return self._exact.get(key) or self._loose.get(loose(key))

    def known(self, framework: Framework) -> int:
        """How many of the framework's own keys are there."""
        return sum(any(self.get(name) for name in spelling.keys) for spelling in framework.config.values())

    def chosen_by_the_program(self, framework: Framework) -> Set[str]:
        """The canonical keys that the config sets to "auto"."""
        return {
            key
            for key, spelling in framework.config.items()
            if any((fact := self.get(name)) and fact.value == "auto" for name in spelling.keys)
        }

    def read_all(self, frameworks: Sequence[Framework], anywhere: Framework | None) -> dict[str, Fact]:
        """Every canonical fact: by the keys of the `frameworks` in their order, then by common names of
        `anywhere` in sections of any name."""
        found: dict[str, Fact] = {}
        for framework in frameworks:
            for key, spelling in framework.config.items():
                if key not in found and (fact := self.read(key, spelling)):
                    found[key] = fact
                    if key == "precision" and (other := self.contradiction(fact, spelling)):
                        found[other.key] = other
        for key, spelling in anywhere.config.items() if anywhere is not None else ():
            if key not in found and key in ANYWHERE and (fact := self.read_nested(key, spelling)):
                found[key] = fact
        return found

    def read(self, key: str, spelling: ConfigKey) -> Fact | None:
        """The canonical fact behind one of the framework's keys, or None."""
        if spelling.type == "bool" and key == "precision":
            return self._switches(spelling)
        for name in spelling.keys:
            fact = self.get(name)
            if fact is not None and (value := converted(key, fact.value, spelling)) is not None:
                return at(fact, key, value)
        return None

    def read_nested(self, key: str, spelling: ConfigKey) -> Fact | None:
        """The canonical fact behind a common name in any section; None where several sections say several
        things."""
        facts = [self._exact[path] for path in nested(spelling.keys, self._exact)]
        values = {converted(key, fact.value, spelling) for fact in facts}
        return at(facts[0], key, value) if len(values) == 1 and (value := values.pop()) is not None else None

    def contradiction(self, precision: Fact, spelling: ConfigKey) -> Fact | None:
        """`precision.also`: half precision of the other kind that a switch of the same file turns on too."""
        for name in spelling.keys if spelling.type == "bool" else ():
            fact = self.get(name)
            if fact is not None and fact.value is True and fact.file == precision.file:
                word = _switch_name(fact.key)
                if {word, precision.value} == {"bf16", "fp16"}:
                    return at(fact, "precision.also", word)
        return None

    def _switches(self, spelling: ConfigKey) -> Fact | None:
        """Precision recognised by switches: the one that is on names it; all off is full precision."""
        held = [fact for name in spelling.keys if (fact := self.get(name))]
        for fact in held:
            named = precision_of(str(fact.value))
            if fact.value is True or str(fact.value).lower() in ("true", "1"):
                return at(fact, "precision", _switch_name(fact.key))
            if named and not isinstance(fact.value, bool) and fact.value not in (0, 1):
                return at(fact, "precision", named)
        return at(held[0], "precision", "fp32") if held else None


def _switch_name(switch: str) -> str:
    """The precision in the name of a switch; where it names none (`amp`, `use_mixed_precision`), fp16: what
    autocast takes on CUDA."""
    word = re.search(r"bf16|fp16|fp8", switch.lower())
    return word[0] if word else "fp16"


def _without_default(run: Run, found: Mapping[str, Fact]) -> tuple[str, ...]:
    """How the keys begin whose defaults say nothing of this run: a program may have changed what is logged,
    and settings of rewards mean nothing where there are none."""
    logged = ("optimizer.lr",) if run.best("lr") is not None else ()
    rewarded = any(key.startswith("rl.") for key in found.keys() - _WITHOUT_REWARDS)
    rewarded = rewarded or run.best("rl.reward") is not None
    return logged if rewarded else (*logged, "rl.")


def _defaults(
    found: dict[str, Fact], framework: Framework, without: tuple[str, ...], chosen: Set[str]
) -> None:
    """Adds what the framework does when its config says nothing, but for keys that begin like those and what
    is left to the program."""
    for key, value in framework.defaults.items():
        own = next(
            (name for name, spelling in framework.config.items() if key == name or key in spelling.keys), key
        )
        if own in found or own in chosen or own.startswith(without):
            continue
        if isinstance(value, str | int | float | bool):
            found[own] = Fact(own, value)
