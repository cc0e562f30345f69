"""The condition of a rule as it stands for one run: with the thresholds of its variant, and facts of the run
in their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from hrmdoc.rulebook.expressions import MissingInput, about, compile_expression, is_computed
from hrmdoc.rulebook.schema.symptoms import Variant
from hrmdoc.rulebook.schema.when import When


def varied(when: When, variant: Variant) -> When:
    """`when` with the variant's thresholds in every detector of it."""
    given = {name: getattr(variant, name) for name in ("enter", "leave", "patience", "min_points")}
    given = {name: value for name, value in given.items() if value is not None}
    return when.with_detectors(lambda one: replace(one, with_={**one.with_, **variant.with_}, **given))


def is_fixed(when: When) -> bool:
    """Whether no threshold of it is computed from facts, so that it stands the same for every run."""
    given = (value for one in when.walk() for value in (*one.with_.values(), one.enter, one.leave))
    return not any(map(_asks, given))


def _asks(value: Any) -> bool:
    return any(map(_asks, value)) if isinstance(value, list | tuple) else is_computed(value)


def resolve(when: When, facts: Mapping[str, Any]) -> When:
    """`when` with every threshold that is an expression (`=optimizer.lr`) computed from facts.

    Of a list those values are kept that can be computed.

    Raises:
        KeyError: naming the fact that is unknown.
    """

    def known(one: When) -> When:
        with_ = {key: _computed(value, facts) for key, value in one.with_.items()}
        return replace(one, with_=with_, enter=_computed(one.enter, facts), leave=_computed(one.leave, facts))

    return when.with_detectors(known)


def _computed(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, list | tuple):
        return [known for item in value for known in _if_known(item, facts)]
    if not is_computed(value):
        return value
    try:
        return compile_expression(value)(facts, about(facts))
    except MissingInput as missing:
        raise KeyError(missing.name) from missing


def _if_known(value: Any, facts: Mapping[str, Any]) -> Iterator[Any]:
    try:
        yield _computed(value, facts)
    except KeyError:
        return
