"""What became of a loss over the whole run: `hrmdoc.measures.outcome`, put to expressions."""

from __future__ import annotations

from hrmdoc.measures.function import function
from hrmdoc.measures.outcome import FEWEST, outcome
from hrmdoc.record.records import FloatArray


@function(points=FEWEST)
def risen(losses: FloatArray) -> float | None:
    """How far the end lies above the best level of the run, as a share of that."""
    judged = outcome(losses)
    return None if judged is None else judged.rise


@function(points=FEWEST)
def kept(losses: FloatArray) -> float | None:
    """Share of what was gained that is there at the end; below 0 where it ends above its opening."""
    judged = outcome(losses)
    return None if judged is None else judged.kept


@function(points=FEWEST)
def since_best(losses: FloatArray) -> float | None:
    """Share of the run that lies behind its best level."""
    judged = outcome(losses)
    return None if judged is None else judged.since
