"""The condition of a rule as it stands for one run: with the thresholds of its variant, and facts of the run
in their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hrmdoc.rulebook.schema import Variant, When


def varied(when: When, variant: Variant) -> When:
    """`when` with the variant's thresholds in every detector of it."""
    given = {name: getattr(variant, name) for name in ("enter", "leave", "patience", "min_points")}
    given = {name: value for name, value in given.items() if value is not None}
    return when.with_detectors(lambda one: replace(one, with_={**one.with_, **variant.with_}, **given))


def resolve(when: When, facts: Mapping[str, Any]) -> When:
    """`when` with every `$fact` and `$fact|default` replaced by its value.

    Raises:
        KeyError: naming the fact that is unknown and has no default.
    """

    def known(one: When) -> When:
        with_ = {key: _value(value, facts) for key, value in one.with_.items()}
        return replace(one, with_=with_, enter=_value(one.enter, facts), leave=_value(one.leave, facts))

    return when.with_detectors(known)


def _value(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, list | tuple):
        known = [_value(item, facts) if not _is_unknown(item, facts) else None for item in value]
        return [item for item in known if item is not None]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    key, _, default = value[1:].partition("|")
    if facts.get(key) is not None:
        return facts[key]
    if default:
        return float(default)
    raise KeyError(key)


def _is_unknown(item: Any, facts: Mapping[str, Any]) -> bool:
    return isinstance(item, str) and item.startswith("$") and "|" not in item and facts.get(item[1:]) is None
