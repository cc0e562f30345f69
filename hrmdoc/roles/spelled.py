"""How the settings of training runs are spelled, for readers of what programs print: they know no rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hrmdoc.roles.nested import loose

if TYPE_CHECKING:
    from hrmdoc.rulebook import Rulebook

_SHORTEST = 2


def names_of_settings(book: Rulebook) -> frozenset[str]:
    """The names of one word that any framework has for a setting, but for those that some log as a curve."""
    frameworks = book.frameworks.values()
    names = {loose(name) for one in frameworks for key in one.config.values() for name in key.keys}
    logged = {loose(name) for one in frameworks for name in one.metrics}
    return frozenset(name for name in names - logged if "." not in name and len(name) >= _SHORTEST)
