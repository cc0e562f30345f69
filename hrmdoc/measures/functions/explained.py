"""The share of the variance that a regression explains, by whatever name it is logged."""

from __future__ import annotations

from collections.abc import Sequence

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.series import Series

NAMES = frozenset({"r2", "rsquared", "r2score", "rsq"})
HELD_OUT = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev"})
LITTLE = 0.1


@function(
    "families",
    roles=0,
    points=8,
    families=("score", ""),
    among=lambda series: not NAMES.isdisjoint(series.nature.words),
)
def explains_nothing(members: Sequence[Member]) -> Series | None:
    """A coefficient of determination that ends at a tenth or less, as it did for the last third of the run,
    and was hardly ever above: the mean of the targets would do nearly as well."""
    held_out = [one for one in members if not HELD_OUT.isdisjoint(one.series.nature.words)] or list(members)
    for one in held_out:
        late = one.values[-(len(one.values) // 3) :]
        if middle(late) < LITTLE and float(one.values[-1]) < LITTLE and float(one.values.max()) < 2 * LITTLE:
            return one.series
    return None
