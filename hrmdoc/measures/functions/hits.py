"""How often what was asked for is among the first k of a list, against what an order by chance gives: k of
all the items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

FEWEST = 5
HITS = frozenset({"hit", "hits", "hr", "hitrate", "recall", "r"})
"""Words of scores that are k of n by chance where one item is asked for, and no more where several are."""
FAR = 0.4
"""The share of what chance gives below which a score is worse than that."""
HARDLY = 0.2
"""From this chance on the list is about as long as the items, and says little."""
NEAR, EVER = 1.5, 2.0
"""Multiples of chance: where a guess ends, and what it never is above."""


def _is_of_list(series: Series) -> bool:
    return not HITS.isdisjoint(series.nature.words) and _length(series) > 0


@function("families", roles=0, points=FEWEST, families=("score",), among=_is_of_list)
def hits_below_chance(members: Sequence[Member], items: float = 0) -> Series | None:
    """A share of hits among the first k of so many items that is less than two fifths of what an order by
    chance gives, throughout; all such shares of the run are.

    Args:
        items: how many there are.
    """
    judged = list(_judged(members, items))
    if not judged or not all(values.max() < FAR for _, values in judged):
        return None
    return judged[0][0]


@function("families", roles=0, points=3, families=("score",), among=_is_of_list)
def ranked_as_guessed(members: Sequence[Member], items: float = 0) -> Series | None:
    """A share of hits in held-out data that ends at one and a half times what an order by chance gives or
    less, and never was twice it.

    Args:
        items: how many there are; 0 where that is not known, and nothing is said.
    """
    for series, multiples in _judged(members, items):
        if series.nature.held_out and middle(multiples[-3:]) <= NEAR and float(multiples.max()) <= EVER:
            return series
    return None


def _judged(members: Sequence[Member], items: float) -> Iterator[tuple[Series, FloatArray]]:
    """The shares as multiples of chance."""
    for one in members:
        chance = _length(one.series) / max(items, 1.0)
        values = one.values / 100.0 if one.values.max() > 1.0 else one.values
        if chance < HARDLY:
            yield one.series, values / chance


def _length(series: Series) -> int:
    """The k of `hit@k`, 0 where the name holds no number or several."""
    numbers = [int(word) for word in series.nature.words if word.isdecimal() and len(word) < 6]
    return numbers[0] if len(numbers) == 1 else 0
