"""rules/families/: what sorts of series there are, by the words of their names."""

from __future__ import annotations

from msgspec import Struct


class Family(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/families/<id>.yaml.

    Attributes:
        order: families are asked in this order; the first that knows a name takes it.
        roles: roles whose series belong to it, whatever their names.
        phrases: neighbouring words that say so before any single word is looked at.
        words: words of a name that say so, in lower case.
        last_words: words that say so where nothing stands behind them.
        endings: how a word may end that says so, as in `clsloss`.
        floor, ceiling: no value lies beyond them.
        never_negative: words of names of this family that cannot be below zero.
    """

    id: str
    title: str
    order: int
    summary: str
    roles: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    last_words: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    floor: float | None = None
    ceiling: float | None = None
    never_negative: tuple[str, ...] = ()
