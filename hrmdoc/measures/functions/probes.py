"""What is measured of features and samples beside the loss that is trained: what a probe makes of the ones,
how far the others are from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

PROBES = frozenset({"knn", "probe", "linear", "linprobe"})
DISTANCES = frozenset({"fid", "kid", "mmd", "fvd", "frechet", "fid50k", "kid50k"})
"""Words of distances between samples and data."""
NEARER = 0.95
HARDLY = 0.02
GOOD = 0.95


def _shares(values: FloatArray) -> FloatArray | None:
    """As shares of 1, percents too; None for what is no rate."""
    if not len(values) or values.min() < 0.0 or values.max() > 100.0:
        return None
    return values / 100.0 if values.max() > 1.0 else values


@function(
    "families",
    roles=0,
    points=8,
    families=("score",),
    among=lambda series: not PROBES.isdisjoint(series.nature.words),
)
def probe_gains_nothing(members: Sequence[Member]) -> Series | None:
    """A score of features, by nearest neighbours or a linear layer, whose level is no higher at any third of
    the run than at its first two evaluations, and not near its ceiling."""
    for one in members:
        shares = _shares(one.values)
        if shares is None:
            continue
        opening = float(shares[:2].max())
        late = max(middle(part) for part in np.array_split(shares[2:], 3))
        if late < opening + HARDLY and opening < GOOD:
            return one.series
    return None


@function(
    "families",
    roles=0,
    points=5,
    families=("error", "loss", "divergence", ""),
    among=lambda series: not DISTANCES.isdisjoint(series.nature.words) and "loss" not in series.nature.words,
)
def samples_gain_nothing(members: Sequence[Member]) -> Series | None:
    """A distance between samples and data, such as FID, that was never a twentieth below its first value."""
    for one in members:
        opening = float(one.values[0])
        if opening > 0.0 and float(one.values.min()) > NEARER * opening:
            return one.series
    return None
