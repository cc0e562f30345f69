"""How much of a table of codes a model uses, as vector-quantised autoencoders log it."""

from __future__ import annotations

from collections.abc import Sequence

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.series import Series

USED = frozenset({"perplexity", "ppl"})
OF_CODES = frozenset(
    {"vq", "codebook", "code", "codes", "commit", "commitment", "quantizer", "recon", "reconstruction"}
)
ONE = 1.5
"""Codes in use, as the exponential of their entropy."""


@function("families", roles=0, points=8, families=("loss", "error", "score", "divergence", ""))
def one_code_used(members: Sequence[Member]) -> Series | None:
    """The perplexity of codes, which counts those in use, that is below one and a half for the last half of
    the run and at its end, in a run that reconstructs its inputs."""
    if all(OF_CODES.isdisjoint(one.series.nature.words) for one in members):
        return None
    for one in members:
        if USED.isdisjoint(one.series.nature.words):
            continue
        late = one.values[len(one.values) // 2 :]
        if 0.99 <= middle(late) < ONE and one.values[-1] < ONE:
            return one.series
    return None
