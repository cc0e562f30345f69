"""A symptom states one claim: how long a check may be, and how many ways there are to show it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path

from hrmdoc.rulebook.conditions import Route, parts
from hrmdoc.rulebook.parsing import parse
from hrmdoc.rulebook.rulefile import line_of
from hrmdoc.rulebook.schema.symptoms import SymptomRule
from hrmdoc.rulebook.schema.when import When

LONGEST_CHECK = 160
MOST_CLAUSES = 5
MOST_WAYS = 4
"""Alternatives of a condition, those of its parts multiplied: training and evaluation, each in long logs
and in short ones, say."""


def wordy(rule: SymptomRule) -> Iterator[tuple[Route, str]]:
    """What of a rule is too long to be one claim: the keys that lead to it, and the fault."""
    if (ways := alternatives(rule.when)) > MOST_WAYS:
        flaw = f"a condition that can come true in {ways} ways is more than one claim (at most {MOST_WAYS})"
        yield ("when",), flaw
    for route, part in parts(rule.when, ("when",)):
        if part.check is not None:
            yield from (((*route, "check"), flaw) for flaw in _flaws(part.check))


def wordy_in(folder: Path) -> list[str]:
    """The same of a user's rule folder, one message each with file and line.

    Raises:
        RuleError: a rule cannot be read or is wrong.
    """
    found = []
    for path in sorted((folder / "symptoms").glob("*.yaml")):
        blob = path.read_bytes()
        rule = parse(path, blob)
        if isinstance(rule, SymptomRule):
            found += [f"{path}:{line_of(path, blob, route)}: {flaw}" for route, flaw in wordy(rule)]
    return found


def alternatives(when: When) -> int:
    """In how many ways a condition can come true; what must be absent counts as one."""
    if when.any is not None:
        return sum(map(alternatives, when.any))
    return math.prod(map(alternatives, when.all or ()))


def clauses(check: str) -> int:
    """How many statements `and`, `or`, `not` and `if` join in it; 1 for a plain comparison."""
    return _clauses(ast.parse(check.strip(), mode="eval").body)


def _flaws(check: str) -> Iterator[str]:
    text = " ".join(check.split())
    count = clauses(text)
    if len(text) > LONGEST_CHECK or count > MOST_CLAUSES:
        yield (
            f"a check of {len(text)} characters and {count} clauses is more than one claim"
            f" (at most {LONGEST_CHECK} and {MOST_CLAUSES}): {text[:60]} ..."
        )


def _clauses(node: ast.expr) -> int:
    match node:
        case ast.BoolOp(values=parts):
            return sum(_clauses(part) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _clauses(inner)
        case ast.Compare(left=left, comparators=others):
            return 1 + sum(_clauses(part) - 1 for part in (left, *others))
        case ast.IfExp(test=test, body=body, orelse=other):
            return sum(_clauses(part) for part in (test, body, other))
        case ast.Call(args=arguments):
            return 1 + sum(_clauses(part) - 1 for part in arguments)
        case _:
            return 1
