"""What became of a loss over the whole run: `hrmdoc.measures.outcome`, put to expressions."""

from __future__ import annotations

from hrmdoc.measures.function import function
from hrmdoc.measures.outcome import FEWEST, NOISES, outcome
from hrmdoc.measures.pyramid import middle
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
def squandered(rewards: FloatArray) -> float | None:
    """Share of a reward's run at which half of what it had gained until then was gone; 0 where half and more
    is there at the end, and where the gain is less than half of the opening or than six times the noise."""
    judged = outcome(rewards, "max")
    if judged is None:
        return None
    learned = judged.gain > max(2 * NOISES * judged.noise, 0.5 * abs(judged.opening))
    return judged.wasted if learned and judged.kept < 0.5 and judged.distance > 2 * NOISES else 0.0


@function(points=FEWEST)
def since_best(losses: FloatArray) -> float | None:
    """Share of the run that lies behind its best level."""
    judged = outcome(losses)
    return None if judged is None else judged.since


@function(points=9)
def still_falling(losses: FloatArray) -> float | None:
    """Share of the whole fall that the last third of the run made, between levels of three values; 0 for a
    curve that did not fall. A third for one that falls at one pace."""
    opening, end = middle(losses[:3]), middle(losses[-3:])
    before = middle(losses[-len(losses) // 3 - 1 :][:3])
    return (before - end) / (opening - end) if opening > end else 0.0
