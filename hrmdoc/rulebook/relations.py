"""What symptom rules say of one another: the order in which they are looked at, and what presupposes what.

A rule whose check asks for another symptom (`seen('loss-spike')`) states so: under `presupposes` when its own
question arises only once one of those has shown, else under `after`. Either way it is looked at behind them.
A group may stand for all its members, in checks (`seen('not-learning')`) and in those two lists; where a
symptom and a group share a name, the symptom is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec.structs import replace

from hrmdoc.errors import RuleError
from hrmdoc.rulebook.conditions import parts
from hrmdoc.rulebook.expressions import compile_expression
from hrmdoc.rulebook.schema.symptoms import SymptomRule


class Grouped(Protocol):
    """A symptom, or the rule of one."""

    @property
    def id(self) -> str: ...
    @property
    def group(self) -> str | None: ...


def groups(symptoms: Iterable[Grouped]) -> dict[str, tuple[str, ...]]:
    """The members of each group that shares its name with no symptom."""
    found: dict[str, tuple[str, ...]] = {}
    ids = set()
    for one in symptoms:
        ids.add(one.id)
        if one.group:
            found[one.group] = (*found.get(one.group, ()), one.id)
    return {name: members for name, members in found.items() if name not in ids}


def with_members(
    symptoms: Mapping[str, SymptomRule], formerly: Mapping[str, tuple[str, ...]]
) -> dict[str, SymptomRule]:
    """The rules, with the members of a group, or those that stand for an id of before, in its place under
    `after` and `presupposes`."""
    known = {**formerly, **groups(symptoms.values())}

    def members(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one for name in names for one in known.get(name, (name,)))

    return {
        name: replace(rule, after=members(rule.after), presupposes=members(rule.presupposes))
        if waits_for(rule) & known.keys()
        else rule
        for name, rule in symptoms.items()
    }


def in_order(rules: Iterable[SymptomRule]) -> list[SymptomRule]:
    """Each rule behind those that it names under `after` and `presupposes`; else as they are given.

    Raises:
        RuleError: rules wait for one another in a circle.
    """
    named = {rule.id: rule for rule in rules}
    placed: dict[str, SymptomRule] = {}

    def place(rule: SymptomRule, path: tuple[str, ...]) -> None:
        if rule.id in placed:
            return
        if rule.id in path:
            circle = (*path[path.index(rule.id) :], rule.id)
            raise RuleError(f"symptoms wait for one another: {' after '.join(circle)}")
        for name in sorted(waits_for(rule) & named.keys()):
            place(named[name], (*path, rule.id))
        placed[rule.id] = rule

    for rule in named.values():
        place(rule, ())
    return list(placed.values())


def waits_for(rule: SymptomRule) -> frozenset[str]:
    """The symptoms that are looked at before it."""
    return frozenset((*rule.after, *rule.presupposes))


def misfits(rule: SymptomRule) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with the relations of a rule by itself: the keys that lead to the place, and the fault.

    The symptoms that its checks ask for are those that it states.
    """
    asked: set[str] = set()
    for route, part in parts(rule.when, ("when",)):
        names = compile_expression(part.check).symptoms if part.check is not None else ()
        asked.update(names)
        for name in sorted(set(names) - waits_for(rule)):
            yield (*route, "check"), f"it asks for {name!r}, which neither `after` nor `presupposes` names"
    for name in rule.after:
        if name not in asked:
            yield ("after",), f"no check of it asks for {name!r}"


def problems(symptoms: Mapping[str, SymptomRule]) -> list[str]:
    """Relations to symptoms that do not exist, and a circle if there is one; one message each."""
    found = [
        f"symptom {rule.id}: {field} names {name!r}, which does not exist"
        for rule in symptoms.values()
        for field, names in (("after", rule.after), ("presupposes", rule.presupposes))
        for name in names
        if name not in symptoms
    ]
    try:
        in_order(symptoms.values())
    except RuleError as error:
        found.append(error.what)
    return found
