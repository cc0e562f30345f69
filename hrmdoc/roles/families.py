"""What sort of thing a series is: a loss, a score, an error, a divergence, a reward, a norm, a schedule, a
clock.

A role says which number of a run a series is, and few names have one. Its family says how it may behave, and
most names tell that by one word (`rules/families/`); values that the family does not allow take it back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hrmdoc.record.series import Nature, Series
from hrmdoc.roles.company import games_lost
from hrmdoc.roles.names import EVAL
from hrmdoc.text import patterns

if TYPE_CHECKING:
    from hrmdoc.record.run import Run
    from hrmdoc.roles.quantities import Meanings
    from hrmdoc.rulebook import Family

_PIECES = patterns.lazy(r"[^0-9A-Za-z]+")
_WORDS = patterns.lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_GLUED = patterns.lazy(
    r"(train|valid|val|test|dev|eval|d|g|dis|disc|gen|critic|adv|gan)(loss|acc|accuracy|err|error)"
)
_NO_CURVE = frozenset(
    """
    std var best min lowest highest patience delta previous improvement num count target
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
"""Words of numbers that sum up a curve, or count things, and are no curve of the family themselves."""
_HELD_OUT = EVAL | {"test", "testing", "v"}
_TOLERANCE = 1.01
_WRONG = 2.0


def words_of(metric: str) -> tuple[str, ...]:
    """The words of a name in lower case: between its separators, and where capitals or digits begin.

    `Loss_D` gives `loss`, `d`; `valF1Score` gives `valf1score`, `val`, `f`, `score`; `dloss` gives `dloss`,
    `d`, `loss`.
    """
    found: list[str] = []
    for piece in filter(None, _PIECES.split(metric)):
        inner = [word.lower() for word in _WORDS.findall(piece)]
        glued = _GLUED.fullmatch(piece.lower())
        inner += glued.groups() if glued else ()
        found += [piece.lower(), *dict.fromkeys(word for word in inner if word != piece.lower())]
    return tuple(found)


class Families:
    """A callable from the name and the role of a metric to its nature, from memory where it was asked before.

    Args:
        families: those of the rulebook.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = sorted(families, key=lambda family: family.order)
        self._by_role = {role: family for family in self._families for role in family.roles}
        self._seen: dict[tuple[str, str | None], Nature] = {}

    def __call__(self, metric: str, role: str | None = None) -> Nature:
        """The nature of a metric; one of no family where nothing tells."""
        known = self._seen.get((metric, role))
        if known is None:
            known = self._seen[metric, role] = self._look_up(metric, role)
        return known

    def _look_up(self, metric: str, role: str | None) -> Nature:
        words = words_of(metric)
        family = self._by_role.get(role or "")
        if family is None and words and _NO_CURVE.isdisjoint(words):
            family = self._by_phrase(" ".join(words)) or self._by_word(words)
        held_out = not _HELD_OUT.isdisjoint(words) or (role or "").startswith("eval.")
        if family is None:
            return Nature(words=words, held_out=held_out)
        bounded = not set(words).isdisjoint(family.never_negative)
        floor = 0.0 if bounded else family.floor
        return Nature(
            family.id,
            -math.inf if floor is None else floor,
            math.inf if family.ceiling is None else family.ceiling,
            words,
            held_out,
        )

    def _by_phrase(self, name: str) -> Family | None:
        return next((one for one in self._families if any(p in name for p in one.phrases)), None)

    def _by_word(self, words: tuple[str, ...]) -> Family | None:
        return next((one for one in self._families if _names(one, words)), None)


def _names(family: Family, words: tuple[str, ...]) -> bool:
    """Whether one of the words says that a series is of the family."""
    if not set(words).isdisjoint(family.words) or words[-1] in family.last_words:
        return True
    return bool(family.endings) and any(word.endswith(family.endings) for word in words)


def classify(run: Run, families: Families, meanings: Meanings) -> None:
    """Gives every series of `run` its nature."""
    metrics = {series.key.metric for series in run.series.values()}
    games, above = games_lost(metrics), meanings.above(metrics)
    for series in run.series.values():
        metric, role = series.key.metric, series.role.role
        counted = metric in games and role is None
        nature = Nature(words=words_of(metric)) if counted else families(metric, role)
        series.nature = nature._replace(quantity=meanings(metric), above=above.get(metric))


def allowed(series: Series) -> bool:
    """Whether the values of a series are those of its family: a score of 300 is none, but a share that is
    computed wrongly may come to 121 %."""
    highest = float(np.nanmax(series.values, initial=-math.inf))
    tolerance = _WRONG if series.nature.quantity is not None else _TOLERANCE
    return highest <= tolerance * series.nature.ceiling
