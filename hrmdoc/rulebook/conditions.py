"""One notation wherever a rule computes or asks: the expressions of a rule file, and what they may call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hrmdoc import measures
from hrmdoc.errors import RuleError, did_you_mean
from hrmdoc.rulebook.expressions import compile_expression, is_computed
from hrmdoc.rulebook.schema.causes import Cause
from hrmdoc.rulebook.schema.remedies import Remedy
from hrmdoc.rulebook.schema.symptoms import SymptomRule
from hrmdoc.rulebook.schema.typical import Typical
from hrmdoc.rulebook.schema.when import When

if TYPE_CHECKING:
    from hrmdoc.rulebook.schema.book import RuleFile

Route = tuple[str, ...]
Expressions = Iterator[tuple[Route, str]]

KNOWN = {"known": 1}
"""Functions that are asked of facts, with how many arguments they take."""
OF_TABLES = KNOWN | {"named": 2}


def misfits(parsed: RuleFile) -> Iterator[tuple[Route, str]]:
    """What is wrong with the expressions of a rule file: the keys that lead to the place, and the fault."""
    if isinstance(parsed, SymptomRule):
        yield from _faults(_checks(parsed.when, ("when",)), _of_runs())
        yield from _faults(_thresholds(parsed), KNOWN)
    elif isinstance(parsed, Cause):
        given = ((("given", str(at), "check"), one.check) for at, one in enumerate(parsed.given))
        yield from _faults(given, _of_symptoms())
    elif isinstance(parsed, Remedy):
        values = ((("changes", str(at), "value"), one.value) for at, one in enumerate(parsed.changes))
        yield from _faults(_computed(values), KNOWN)
    elif isinstance(parsed, Typical):
        yield from _faults(_rows(parsed), OF_TABLES)


def _of_runs() -> dict[str, int | Callable[..., Any]]:
    """What checks of symptoms may call: every function of measures, and `known`."""
    return {name: one.call for name, one in measures.all_functions().items()} | KNOWN


def _of_symptoms() -> dict[str, int | Callable[..., Any]]:
    """What circumstances of causes may call: facts and symptoms are all that a diagnosis knows."""
    known = measures.all_functions().items()
    return {name: one.call for name, one in known if one.subject == "symptom"} | KNOWN


def _faults(
    expressions: Iterable[tuple[Route, str]], functions: Mapping[str, int | Callable[..., Any]]
) -> Iterator[tuple[Route, str]]:
    for route, text in expressions:
        try:
            calls = compile_expression(text).calls
        except RuleError as error:
            yield route, error.what
            continue
        for name, count in calls.items():
            if name not in functions:
                hint = did_you_mean(name, functions) or f"known here: {', '.join(sorted(functions))}"
                yield route, f"there is no function {name!r} here; {hint}"
            elif not _takes(functions[name], count):
                yield route, f"{name}() does not take {count} arguments; see `hrmdoc explain {name}`"


def _takes(function: int | Callable[..., Any], count: int) -> bool:
    if isinstance(function, int):
        return count == function
    found = measures.all_functions()[function.__name__]
    if found.subject == "symptom":
        return count >= 1
    numbers = [one for one in inspect.signature(function).parameters.values() if one.default is not one.empty]
    return found.roles <= count <= found.roles + len(numbers)


def _checks(when: When, route: Route) -> Expressions:
    for inner, part in parts(when, route):
        if part.check is not None:
            yield (*inner, "check"), part.check


def parts(when: When, route: Route) -> Iterator[tuple[Route, When]]:
    """A condition and everything inside it, each with the keys that lead to it."""
    yield route, when
    for joint in ("all", "any"):
        for index, part in enumerate(getattr(when, joint) or ()):
            yield from parts(part, (*route, joint, str(index)))
    if when.absent is not None:
        yield from parts(when.absent, (*route, "absent"))


def _thresholds(rule: SymptomRule) -> Expressions:
    for route, part in parts(rule.when, ("when",)):
        values: dict[Route, Any] = {("enter",): part.enter, ("leave",): part.leave}
        for name, value in part.with_.items():
            many = value if isinstance(value, list | tuple) else [value]
            values |= {("with", name, str(at)): one for at, one in enumerate(many)}
        yield from _computed(((*route, *inner), value) for inner, value in values.items())


def _rows(typical: Typical) -> Expressions:
    for at, table in enumerate(typical.tables):
        for number, row in enumerate(table.rows):
            route = ("tables", str(at), "rows", str(number))
            yield (*route, "when"), row.when
            yield from _computed(((*route, "sets", name), value) for name, value in row.sets.items())


def _computed(values: Iterable[tuple[Route, Any]]) -> Expressions:
    return ((route, value) for route, value in values if is_computed(value))
