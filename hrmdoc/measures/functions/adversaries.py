"""Two nets that train against one another: their losses are told by what each comes to, not by their fall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hrmdoc.measures.function import Function, Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

JUDGES = frozenset({"d", "disc", "discriminator", "dis", "critic", "netd"})
FORGERS = frozenset({"g", "gen", "generator", "netg"})
GLUED = ("losses", "loss", "error", "err")
"""What names write without a break before or behind whose it is: `dloss`, `errG`."""
NEUTRAL = frozenset({"loss", "losses", "err", "real", "fake", "gan", "adv", "total", "train", "avg", "mean"})
"""Words that say which term of the loss it is."""
CERTAIN = 0.01
"""Loss of a discriminator that tells every forgery."""
GONE = 5e-5
"""What is printed as zero."""
NEARLY = 0.05
HOPELESS = 5.0
"""Loss of a generator of which one forgery in 150 passes."""
SILENT = 0.001
"""A loss as near to nothing as this has no gradient to speak of, and whatever is added to the generator's own
falls for other reasons."""
UNDECIDED = np.array([0.25, 0.5, math.log(2), 1.0, 2 * math.log(2), 2.0])
"""Losses of one half for every sample, real or made: squared, cross-entropy and hinge, each as mean and as
sum."""
STILL = 0.01
TIMES = 20.0
LEAST = 10.0
"""What a loss that diverges has come to: so many times its opening, and this size at least."""


def _of_nets(points: int) -> Callable[[Callable[..., Series | None]], Function]:
    """Makes a function of the losses of two nets, of so many points each."""
    families = ("loss", "error", "")
    return function(
        "families", roles=0, points=points, families=families, among=lambda series: _is_of_nets(series)
    )


@_of_nets(20)
def discriminator_won(members: Sequence[Member]) -> Series | None:
    """The loss of a discriminator that has come to nothing by the last third of the run, while that of its
    generator is no lower than at first, or well above nothing where the other is at zero."""
    for judge, forger in _pairs(members):
        certainty = _late(judge.values)
        early, late = middle(forger.values[: len(forger.values) // 3]), _late(forger.values)
        won = 0.0 <= certainty < CERTAIN and late >= max(early, 0.5)
        spent = abs(certainty) < SILENT and float(np.abs(judge.values).max()) > 10 * SILENT and late > 0.1
        if won or spent or (0.0 <= certainty < NEARLY and late > HOPELESS and late > 1.5 * early):
            return judge.series
    return None


@_of_nets(8)
def discriminator_diverged(members: Sequence[Member]) -> Series | None:
    """The loss of a discriminator, beside a generator's, whose size is a multiple of all its opening and
    of all of the first half, and is there to the end."""
    for judge, _ in _pairs(members):
        sizes = np.abs(judge.values)
        late = float(sizes[-3:].min())
        opening = float(sizes[: max(2, len(sizes) // 8)].max())
        if late > max(LEAST, TIMES * opening) and late > 2.0 * float(sizes[: len(sizes) // 2].max()):
            return judge.series
    return None


@_of_nets(20)
def both_won(members: Sequence[Member]) -> Series | None:
    """The loss of a generator that has come to nothing by the last third, as has that of its discriminator:
    what one of them is to get wrong the other one gets right, so both cannot be at zero."""
    return next((f.series for j, f in _pairs(members) if _nothing(j) and _nothing(f)), None)


@_of_nets(20)
def generator_unopposed(members: Sequence[Member]) -> Series | None:
    """The loss of a generator that has come to nothing by the last third, while its discriminator is wrong
    by more than at first: every forgery passes."""
    for judge, forger in _pairs(members):
        early = middle(judge.values[: max(3, len(judge.values) // 10)])
        if _nothing(forger) and _late(judge.values) > max(1.5 * early, 1.0):
            return forger.series
    return None


@_of_nets(20)
def discriminator_undecided(members: Sequence[Member]) -> Series | None:
    """The loss of a discriminator, beside a generator's, that was never more than a hundredth away from
    what one and the same answer to all samples costs; a game that comes to rest there began elsewhere."""
    for judge, _ in _pairs(members):
        still = float(np.abs(judge.values - UNDECIDED[:, None]).max(axis=1).min())
        if still < STILL:
            return judge.series
    return None


def _nothing(member: Member) -> bool:
    """Whether a loss began well above nothing and has come to it for good."""
    values = member.values
    return (
        0.0 <= _late(values) < CERTAIN and 0.0 <= float(values[-1]) < CERTAIN < float(values[:5].max()) / 10
    )


def _late(values: FloatArray) -> float:
    return middle(values[-(len(values) // 3) :])


def _pairs(members: Sequence[Member]) -> Iterator[tuple[Member, Member]]:
    """Losses whose names differ in nothing but whose they are: `Loss_D` and `Loss_G`, `D_A` and `G_A`."""
    forgers = {_rest(one, FORGERS): one for one in members if not FORGERS.isdisjoint(_words(one.series))}
    for one in members:
        judge = not JUDGES.isdisjoint(_words(one.series))
        if judge and (other := forgers.get(_rest(one, JUDGES))) is not None:
            yield one, other


def _is_of_nets(series: Series) -> bool:
    return not (JUDGES | FORGERS).isdisjoint(_words(series))


def _words(series: Series) -> tuple[str, ...]:
    return tuple(filter(None, map(_bare, series.nature.words)))


def _bare(word: str) -> str:
    """The word without a `loss` that is glued to whose it is."""
    for glued in GLUED:
        for rest in (word.removesuffix(glued), word.removeprefix(glued)):
            if rest in JUDGES or rest in FORGERS:
                return rest
    return word


def _rest(member: Member, own: frozenset[str]) -> frozenset[str]:
    """What a name says beside whose loss it is: of `errD`, which is also taken apart, `err`."""
    words = _words(member.series)
    glued = {one + other for one in words for other in words}
    return frozenset(words) - own - glued - NEUTRAL
