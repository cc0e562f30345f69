"""What is kept of a run to compare another one with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from hrmdoc.record.records import FloatArray, IntArray

_SAME = 0.8
"""Share of all metrics of two runs that both must have."""
_FIRST = 5


class Track(NamedTuple):
    """A metric of a run.

    Attributes:
        steps, values: in the order in which they came, shape [n].
        family: `score`, `error`, `reward` or `loss`; "" where it does not say what came of the run.
    """

    steps: IntArray
    values: FloatArray
    family: str


class Peer(Struct, frozen=True):
    """A run of the same program as another, or so it seems by where it lies.

    Attributes:
        path: where it lies.
        tracks: by the name of the metric; of several sources of one the longest.
        settings: by canonical key, or as its program spells them.
    """

    path: str
    tracks: Mapping[str, Track]
    settings: Mapping[str, Any]

    def is_like(self, other: Peer) -> bool:
        """Whether both log the same metrics, the one that both log most often from the same steps on."""
        common = self.tracks.keys() & other.tracks.keys()
        if not common or len(common) < _SAME * len(self.tracks.keys() | other.tracks.keys()):
            return False
        mine, theirs = max(
            ((self.tracks[name].steps, other.tracks[name].steps) for name in sorted(common)),
            key=lambda pair: min(len(pair[0]), len(pair[1])),
        )
        first = min(len(mine), len(theirs), _FIRST)
        return bool((mine[:first] == theirs[:first]).all())
