"""A line without its numbers is a template; a template is understood once.

The numbers of a line are found in one linear pass; what stands between them gives their names. Logs repeat a
few templates for ever, so the understanding is kept by template and a line costs little more than its split.
"""

from __future__ import annotations

from msgspec.structs import replace

from hrmdoc.readers.log.grammar.builder import plan_of
from hrmdoc.readers.log.grammar.numbers import split_numbers
from hrmdoc.readers.log.grammar.plainer import plainer
from hrmdoc.readers.log.grammar.plan import Plan, with_labels
from hrmdoc.readers.log.grammar.values import position_of, values_of
from hrmdoc.text import patterns

_MOST_PLANS = 4096
_DIGITS = patterns.lazy("[0-9]+")
MOST_NUMBERS = 1000
"""A line that holds more is data."""


class Plans:
    """Templates understood so far; forgotten all at once when they become many (prose makes a template a
    line)."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._digitless: dict[tuple[str, ...], Plan | None] = {}
        self._labelled: dict[tuple[Plan, tuple[str, ...]], Plan] = {}

    def read(self, text: str, logger: str = "") -> tuple[Plan, list[str]] | None:
        """The plan of a line and its numbers; None when there are none, or too many for a metric line."""
        parts = split_numbers(plainer(text))
        if not 3 <= len(parts) <= 2 * MOST_NUMBERS:
            return None
        gaps, numbers = tuple(parts[::2]), parts[1::2]
        return self._filled(self.of(gaps, logger), numbers), numbers

    def values_in(self, text: str) -> list[tuple[str, float]]:
        """The named numbers in a text, counters left out."""
        known = self.read(text)
        return [] if known is None else values_of(*known)

    def step_in(self, text: str) -> int | None:
        """The step in a text that holds nothing else, such as what stands before a printed mapping."""
        known = self.read(f"[{text}")  # `step 7: ` heads a paragraph as often, but not here
        return None if known is None or not known[0].bare else position_of(*known).step

    def _filled(self, plan: Plan, numbers: list[str]) -> Plan:
        """The plan with the numbers in its names that this line has there."""
        if not plan.labels:
            return plan
        labels = tuple(numbers[at] for at in plan.labels)
        filled = self._labelled.get((plan, labels))
        if filled is None:
            if len(self._labelled) >= _MOST_PLANS:
                self._labelled.clear()
            filled = self._labelled[plan, labels] = with_labels(plan, numbers)
        return filled

    def of(self, gaps: tuple[str, ...], logger: str = "") -> Plan:
        """The plan of a template, see `plan_of`."""
        key = (*gaps, logger)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._built(gaps, logger)
        return plan

    def _built(self, gaps: tuple[str, ...], logger: str) -> Plan:
        """The plan of a new template. Where digits that belong to words (`epoch25, iter10, loss: `) have no
        part in it, it is that of all templates that differ in them alone."""
        zeros = tuple(_DIGITS.sub("0", gap) for gap in gaps)
        if zeros == gaps:
            return plan_of(gaps, logger)
        key = (*zeros, logger)
        if key not in self._digitless:
            if len(self._digitless) >= _MOST_PLANS:
                self._digitless.clear()
            plan, *others = (plan_of(some, logger) for some in (gaps, zeros, _nines(zeros)))
            alike = all(other == plan for other in others)
            self._digitless[key] = replace(plan, free=True) if alike else None
        return self._digitless[key] or plan_of(gaps, logger)


def _nines(gaps: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(gap.replace("0", "99") for gap in gaps)
