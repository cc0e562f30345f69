"""Two nets that train against one another: their losses are told by what each comes to, not by their fall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

JUDGES = frozenset({"d", "disc", "discriminator", "dis"})
FORGERS = frozenset({"g", "gen", "generator"})
NEUTRAL = frozenset({"loss", "losses", "err", "real", "fake", "gan", "adv", "total", "train", "avg", "mean"})
"""Words that say which term of the loss it is."""
CERTAIN = 0.01
"""Loss of a discriminator that tells every forgery."""
GONE = 5e-5
"""What is printed as zero."""
NEARLY = 0.05
HOPELESS = 5.0
"""Loss of a generator of which one forgery in 150 passes."""


@function(
    "families",
    roles=0,
    points=20,
    families=("loss", "error", ""),
    among=lambda series: not (JUDGES | FORGERS).isdisjoint(series.nature.words),
)
def discriminator_won(members: Sequence[Member]) -> Series | None:
    """The loss of a discriminator that has come to nothing by the last third of the run, while that of its
    generator is no lower than at first; or to zero, whatever the other terms of its generator's loss come
    to."""
    for judge, forger in _pairs(members):
        certainty = _late(judge.values)
        early, late = middle(forger.values[: len(forger.values) // 3]), _late(forger.values)
        won = 0.0 <= certainty < CERTAIN and late >= max(early, 0.5)
        won = won or (_gone(judge.values) and late > CERTAIN)
        if won or (0.0 <= certainty < NEARLY and late > HOPELESS and late > 1.5 * early):
            return judge.series
    return None


@function(
    "families",
    roles=0,
    points=20,
    families=("loss", "error", ""),
    among=lambda series: not (JUDGES | FORGERS).isdisjoint(series.nature.words),
)
def both_won(members: Sequence[Member]) -> Series | None:
    """The loss of a generator that has come to nothing by the last third, as has that of its discriminator:
    what one of them is to get wrong the other one gets right, so both cannot be at zero."""
    return next((f.series for j, f in _pairs(members) if _nothing(j) and _nothing(f)), None)


@function(
    "families",
    roles=0,
    points=20,
    families=("loss", "error", ""),
    among=lambda series: not (JUDGES | FORGERS).isdisjoint(series.nature.words),
)
def generator_unopposed(members: Sequence[Member]) -> Series | None:
    """The loss of a generator that has come to nothing by the last third, while its discriminator is wrong
    by more than at first: every forgery passes."""
    for judge, forger in _pairs(members):
        early = middle(judge.values[: max(3, len(judge.values) // 10)])
        if _nothing(forger) and _late(judge.values) > max(1.5 * early, 1.0):
            return forger.series
    return None


def _nothing(member: Member) -> bool:
    """Whether a loss began well above nothing and has come to it for good."""
    values = member.values
    return (
        0.0 <= _late(values) < CERTAIN and 0.0 <= float(values[-1]) < CERTAIN < float(values[:5].max()) / 10
    )


def _gone(values: FloatArray) -> bool:
    """Whether a loss above zero came to zero, and hardly leaves it in the last third."""
    opening, late = middle(values[: max(3, len(values) // 10)]), np.abs(values[-(len(values) // 3) :])
    return bool(opening > CERTAIN / 10 and middle(late) < GONE and late.max() < CERTAIN / 10)


def _late(values: FloatArray) -> float:
    return middle(values[-(len(values) // 3) :])


def _pairs(members: Sequence[Member]) -> Iterator[tuple[Member, Member]]:
    """Losses whose names differ in nothing but whose they are: `Loss_D` and `Loss_G`, `D_A` and `G_A`."""
    forgers = {_rest(one, FORGERS): one for one in members if not FORGERS.isdisjoint(_words(one))}
    for one in members:
        if not JUDGES.isdisjoint(_words(one)) and (other := forgers.get(_rest(one, JUDGES))) is not None:
            yield one, other


def _words(member: Member) -> tuple[str, ...]:
    return member.series.nature.words


def _rest(member: Member, own: frozenset[str]) -> frozenset[str]:
    """What a name says beside whose loss it is: of `errD`, which is also taken apart, `err`."""
    words = _words(member)
    glued = {one + other for one in words for other in words}
    return frozenset(words) - own - glued - NEUTRAL
