"""What settings and the course of a run say about causes beforehand: `given` of a cause, factors of its odds.

A clipped gradient speaks against missing clipping, and a log without a resume against whatever goes wrong at
one. Such a circumstance is no symptom, since healthy runs show it just as well; it moves the prior of the
causes that name it, and no other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hrmdoc import measures
from hrmdoc.errors import RuleError
from hrmdoc.examination.questions import asked_of_symptoms
from hrmdoc.measures.function import Function
from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression
from hrmdoc.rulebook.relations import groups

if TYPE_CHECKING:
    from hrmdoc.examination.symptom import Symptom
    from hrmdoc.rulebook import Cause, Given, Rulebook


class Circumstances(Struct, frozen=True):
    """The facts and findings of a run, as checks of `given` see them."""

    facts: Mapping[str, Any]
    found: Mapping[str, Symptom]
    groups: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        symptoms: Iterable[Symptom],
        facts: Mapping[str, Any],
        formerly: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Circumstances:
        """`formerly`: the ids of before that checks of a user's own may still ask for."""
        known = list(symptoms)
        return cls(facts, {one.id: one for one in known if one.seen}, {**(formerly or {}), **groups(known)})

    def holding(self, cause: Cause) -> list[Given]:
        """Those of the cause that hold; what is not known holds neither way."""
        return [given for given in cause.given if self._holds(given)]

    def prior(self, cause: Cause) -> float:
        """The prior of the cause under the circumstances."""
        odds = cause.prior / (1.0 - cause.prior) * math.prod(given.odds for given in self.holding(cause))
        return odds / (1.0 + odds)

    def _holds(self, given: Given) -> bool:
        states = {name: partial(self._ask, one) for name, one in _of_symptoms().items()}
        try:
            return bool(compile_expression(given.check)(self.facts, about(self.facts) | states))
        except (MissingInput, RuleError):  # a run may state anything, "auto" where a number belongs too
            return False

    def _ask(self, function: Function, *names: str) -> Any:
        return asked_of_symptoms(function, names, self.found.get, self.groups)


@cache
def _of_symptoms() -> Mapping[str, Function]:
    return {name: one for name, one in measures.all_functions().items() if one.subject == "symptom"}


def facts_asked(book: Rulebook) -> frozenset[str]:
    """The facts that the circumstances of some cause look at."""
    return frozenset(
        name
        for cause in book.causes.values()
        for given in cause.given
        for name in compile_expression(given.check).names
    )
