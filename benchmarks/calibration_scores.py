"""How good stated probabilities are: proper scores over all causes of a run, and the calibration error of
what is named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.lab.judge import Examined, Verdict, verdict_of
from benchmarks.lab.metrics import mean_reciprocal_rank, reliability, wilson
from benchmarks.lab.spec import Spec
from hrmdoc.rulebook import Rulebook

Run = tuple[Spec, Examined]

LEAST = 0.005
"""What is not named was given at most WORTH_NAMING; for the logarithm it counts as this, and nothing counts
as surer."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over runs.

    Attributes:
        log: logarithmic score in nats, lower is better: minus the log of what was given to the truth, over
            all causes.
        brier: squared distance between probabilities and truth, summed over causes.
        error: expected calibration error: how far stated probabilities of named faults lie from their
            frequencies.
        ranks: place of the true cause of each faulty run.
        false: healthy runs with a verdict of warning or worse, and how many there are.
        found: the same for faulty runs.
    """

    log: float
    brier: float
    error: float
    ranks: tuple[int | None, ...]
    false: tuple[int, int]
    found: tuple[int, int]

    def better_than(self, other: Scores) -> bool:
        """Both proper scores improve."""
        return self.log < other.log and self.brier < other.brier

    def __str__(self) -> str:
        total = len(self.ranks)
        return " | ".join(
            (
                f"{self.log:.3f}",
                f"{self.brier:.3f}",
                f"{self.error:.3f}",
                str(wilson(self.found[0], self.found[1])),
                str(wilson(sum(rank == 1 for rank in self.ranks), total)),
                str(wilson(sum(rank is not None and rank <= 3 for rank in self.ranks), total)),
                f"{mean_reciprocal_rank(self.ranks):.3f}",
                str(wilson(self.false[0], self.false[1])),
            )
        )


HEADINGS = (
    "log score",
    "Brier",
    "calibration error",
    "found",
    "named first",
    "among three",
    "MRR",
    "false alarms",
)


def scores(runs: Sequence[Run], book: Rulebook) -> Scores:
    """How good the diagnoses by the rates of `book` are."""
    verdicts = [verdict_of(spec, one, book) for spec, one in runs]
    faulty = [v for v in verdicts if not v.spec.healthy]
    healthy = [v for v in verdicts if v.spec.healthy]
    singles = [_scores_of(v) for v in verdicts]
    return Scores(
        log=sum(log for log, _ in singles) / len(singles),
        brier=sum(brier for _, brier in singles) / len(singles),
        error=calibration_error(verdicts),
        ranks=tuple(v.rank for v in faulty),
        false=(sum(v.detected for v in healthy), len(healthy)),
        found=(sum(v.detected for v in faulty), len(faulty)),
    )


def _scores_of(verdict: Verdict) -> tuple[float, float]:
    """Log score and Brier score of one run. Where the rules split one defect, either name is right, and they
    count as one."""
    true = set(verdict.spec.causes)
    missed, log, brier = 1.0, 0.0, 0.0
    for cause, p in verdict.faults:
        if cause in true:
            missed *= 1.0 - p
        else:
            log -= math.log1p(-min(p, 1.0 - LEAST))
            brier += p * p
    if true:
        log -= math.log(min(max(1.0 - missed, LEAST), 1.0 - LEAST))
        brier += missed * missed
    return log, brier


def calibration_error(verdicts: Sequence[Verdict]) -> float:
    """Mean distance between stated and true over bins of the faults that were named, weighted by their
    number."""
    pairs = [(p, cause in v.spec.causes) for v in verdicts for cause, p in v.faults]
    bins = reliability([p for p, _ in pairs], [y for _, y in pairs])
    return sum(one.count * abs(one.stated - one.true) for one in bins) / max(1, len(pairs))
