"""What is usual for a run by what is known of it: the tables of `rules/typical/` at work."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from hrmdoc.errors import RuleError
from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression, is_computed
from hrmdoc.rulebook.schema.typical import Typical, TypicalRow

Functions = Mapping[str, Callable[..., Any]]


def typical_facts(facts: Mapping[str, Any], usual: Iterable[Typical]) -> dict[str, Any]:
    """The facts that the tables of `usual` give for a run of which `facts` are known.

    Raises:
        RuleError: a row is no expression.
    """
    known = dict(facts)
    found: dict[str, Any] = {}
    for table in chain.from_iterable(one.tables for one in usual):
        values = next((values for row in table.rows if (values := _values(row, known)) is not None), {})
        found |= values
        known |= values
    suited, high = found.get("optimizer.lr_suited"), found.get("optimizer.lr_usual_high")
    if suited is not None and high is not None:
        found["optimizer.lr_suited"] = _one_digit(suited, high)
    return found


def _values(row: TypicalRow, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the row sets, None where it does not apply, does not hold, or needs what is not known."""
    if not row.applies.fits(str(facts.get("run.kind")), str(facts.get("run.framework"))):
        return None
    functions: Functions = {**about(facts), "named": lambda fact, words: _holds_word(facts.get(fact), words)}
    condition = compile_expression(row.when)
    computed = {name: compile_expression(value) for name, value in row.sets.items() if is_computed(value)}
    try:
        if not condition(facts, functions):
            return None
        return row.sets | {name: value(facts, functions) for name, value in computed.items()}
    except (MissingInput, RuleError):  # a run may state anything, a word where a number belongs too
        return None


def _holds_word(value: Any, words: str) -> bool:
    """Whether a name, plain letters and digits of it, holds one of the words."""
    plain = re.sub(r"[^a-z0-9]", "", str(value or "").lower())
    return any(word in plain for word in words.split())


def _one_digit(value: float, highest: float) -> float:
    unit = 10.0 ** math.floor(math.log10(value))
    digit = round(value / unit)
    return float(f"{(digit if digit * unit <= highest else digit - 1) * unit:.1g}")
