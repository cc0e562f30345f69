"""How far behind others of its program a run stands.

Peers are of all sorts: seeds of one setting, trials of a search, runs that failed. What the program comes to
is what the best of them agree on; a run that is behind by more than a few times of what sets these apart, and
by much of what they gained, is not as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hrmdoc.measures.pyramid import middle
from hrmdoc.record.peer import Peer, Track
from hrmdoc.record.records import FloatArray

FEWEST = 5
"""Runs of other programs may log what this one logs; so many that agree do not lie together by chance."""
BEST = 3
"""The best third of them is what they come to, of so many at least."""
_TURNS = {"score": 0, "reward": 0, "error": 1, "loss": 2}
"""What is asked of a model comes before the loss that stands for it, which may be another one in each run."""
_WORSE = {"score": -1.0, "reward": -1.0, "error": 1.0, "loss": 1.0}
"""1 where larger is worse."""
FEW = 3
LAST = 5
"""The median of an eighth of the points is the level at the end, of so many at most."""
AGREED = 0.5
"""Share of what was gained that may lie between the best ones, for them to say anything."""
LEAST = 0.2
"""What counts as gained at least, as a share of the level: a run that is nearly perfect after its first epoch
gains no more."""


class Shortfall(Struct, frozen=True):
    """A run beside its peers, by the metric in which it is most behind.

    Attributes:
        metric: its name.
        value: the level at which the run stands.
        low, high: the levels of the best ones.
        best, count: how many those are, and of how many.
        short: how far the run is behind the middle one of these, as a share of what they gained.
        apart: the same, in units of the distance between the best and the last of these.
        among: the best ones.
    """

    metric: str
    value: float
    low: float
    high: float
    best: int
    count: int
    short: float
    apart: float
    among: tuple[Peer, ...]


class _Level(Struct, frozen=True):
    end: float
    start: float
    peer: Peer


def shortfall(own: Peer, peers: Sequence[Peer]) -> Shortfall | None:
    """`own` beside those of `peers` that are like it; None where no metric says what comes of such a run, or
    they come to different things.

    A run is compared with what they had come to at its last step.
    """
    alike = [peer for peer in peers if own.is_like(peer)]
    if len(alike) < FEWEST:
        return None
    found = list(_shortfalls(own, alike))
    turns = [_TURNS[own.tracks[one.metric].family] for one in found]
    first = [one for one, turn in zip(found, turns, strict=True) if turn == min(turns)]
    return max(first, key=lambda one: one.short, default=None)


def _shortfalls(own: Peer, alike: Sequence[Peer]) -> Iterator[Shortfall]:
    for name, track in own.tracks.items():
        if not track.family or _too_early(name, track, alike):
            continue
        levels = [one for peer in alike if (one := _level(peer, name, track)) is not None]
        if len(levels) >= FEWEST:
            found = _among(name, track, sorted(levels, key=lambda one: one.end))
            if found is not None:
                yield found


def _too_early(name: str, track: Track, alike: Sequence[Peer]) -> bool:
    """Whether a run that goes on, as the others did, has hardly a value yet."""
    others = [len(peer.tracks[name].values) for peer in alike if name in peer.tracks]
    return len(track.values) < FEW < max(others, default=0)


def _among(name: str, track: Track, levels: Sequence[_Level]) -> Shortfall | None:
    """`levels`: the best first."""
    worse = _WORSE[track.family]
    best = levels[: max(BEST, len(levels) // 3)]
    usual = middle(np.array([one.end for one in best]))
    spread = best[-1].end - best[0].end
    gained = max(middle(np.array([one.start for one in best])) - usual, LEAST * abs(usual))
    value = _end(track.values) * worse
    if not gained or spread > AGREED * gained:
        return None
    behind = math.inf if math.isnan(value) else value - usual
    ends = sorted((best[0].end * worse, best[-1].end * worse))
    return Shortfall(
        metric=name,
        value=value * worse,
        low=ends[0],
        high=ends[1],
        best=len(best),
        count=len(levels),
        short=behind / gained,
        apart=behind / spread if spread else math.copysign(math.inf, behind) if behind else 0.0,
        among=tuple(one.peer for one in best),
    )


def _level(peer: Peer, name: str, track: Track) -> _Level | None:
    """How the peer stood when it had come as far as the other run, turned so that lower is better."""
    theirs = peer.tracks.get(name)
    if theirs is None or theirs.family != track.family:
        return None
    values = theirs.values
    if len(values) > 1:
        values = values[theirs.steps <= track.steps[-1]]
    values = values[np.isfinite(values)] * _WORSE[track.family]
    return _Level(_end(values), float(values[0]), peer) if len(values) else None


def _end(values: FloatArray) -> float:
    """The level at the end; NaN where none of the values is finite."""
    finite = values[np.isfinite(values)]
    return middle(finite[-min(LAST, len(finite) // 8 + 1) :]) if len(finite) else math.nan
