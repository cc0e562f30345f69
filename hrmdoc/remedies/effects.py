"""Whether a patched config means what it should: read again as at the start, each setting has its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hrmdoc.errors import PatchError
from hrmdoc.remedies.editors.document import Document
from hrmdoc.remedies.editors.scalars import Plain, same
from hrmdoc.remedies.own_config import facts_of
from hrmdoc.roles.canonical import settings_of
from hrmdoc.rulebook import Framework


class Effect(NamedTuple):
    """What a patch wants of one setting: the framework's own key and value."""

    path: str
    own: Plain


def check_effects(
    name: str, document: Document, effects: Mapping[str, Effect], frameworks: Sequence[Framework]
) -> None:
    """Refuses a patched document in which another key still decides a setting.

    Raises:
        PatchError: naming the key that wins over the one that was changed.
    """
    facts = list(facts_of(document, name))
    read = settings_of(facts, frameworks)
    for setting, effect in effects.items():
        alone = [fact for fact in facts if fact.key == effect.path]
        wanted = settings_of(alone, frameworks).get(setting)
        found = read.get(setting)
        if wanted is None or found is None or same(_comparable(found.value), _comparable(wanted.value)):
            continue
        place = f" in line {found.line}" if found.line else ""
        raise PatchError(
            f"{setting} would still be {found.value}, which another key says{place}, not {effect.own}; "
            "nothing was written",
            file=name,
            line=found.line,
        )


def _comparable(value: object) -> Plain:
    return value if isinstance(value, bool | int | float | str) else None
