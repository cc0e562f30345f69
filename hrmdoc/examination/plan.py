"""What of a rulebook does not depend on the run: which rules there are, their order, and how each stands for
runs of one kind and framework. All runs of a process share it."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from hrmdoc.roles import Tables
from hrmdoc.rulebook import Applies, Rulebook, SymptomRule, When
from hrmdoc.rulebook.relations import groups, in_order
from hrmdoc.rulebook.thresholds import is_fixed, varied


class Planned(NamedTuple):
    """A rule for runs of one kind and framework.

    Attributes:
        rule: with the severity of its variant.
        when: with the thresholds of its variant.
        fits: whether it speaks of such runs at all.
        fixed: whether no threshold is computed from facts of the run.
    """

    rule: SymptomRule
    when: When
    fits: bool
    fixed: bool


class Plan:
    """The rules of a rulebook without those that the user switched off.

    Attributes:
        rules: in the rulebook's order.
        groups: their members.
        tables: what tells tables of runs from curves.
    """

    def __init__(self, book: Rulebook, disabled: frozenset[str]) -> None:
        self.book, self.disabled = book, disabled
        self.rules = [
            rule for rule in book.symptoms.values() if rule.id not in disabled and rule.status != "deprecated"
        ]
        self.tables = Tables(book.frameworks.values())
        self.groups = {**book.formerly, **groups(self.rules)}
        self._in_order = in_order(self.rules)
        self._planned: dict[tuple[str, str], list[Planned]] = {}

    def of(self, kind: str, framework: str) -> list[Planned]:
        """The rules in the order in which they are looked at."""
        known = self._planned.get((kind, framework))
        if known is None:
            known = [_planned(rule, kind, framework) for rule in self._in_order]
            self._planned[kind, framework] = known
        return known


def _planned(rule: SymptomRule, kind: str, framework: str) -> Planned:
    fits = rule.applies.fits(kind, framework)
    for variant in rule.variants:
        if Applies(kinds=variant.kinds, frameworks=variant.frameworks).fits(kind, framework):
            when = varied(rule.when, variant)
            return Planned(
                replace(rule, severity=variant.severity or rule.severity), when, fits, is_fixed(when)
            )
    return Planned(rule, rule.when, fits, is_fixed(rule.when))


_newest: list[Plan] = []


def plan_of(book: Rulebook, disabled: frozenset[str]) -> Plan:
    """The plan of that rulebook, made once for all runs that follow one another with it."""
    known = _newest[-1] if _newest else None
    if known is None or known.book is not book or known.disabled != disabled:
        known = Plan(book, disabled)
        _newest[:] = [known]
    return known
