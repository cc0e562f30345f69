"""What became of each fault in the closed loop, and the page that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.lab.metrics import Proportion, wilson
from benchmarks.revision import commit

ENOUGH = 1.1
"""A run has recovered when its final loss is at most so many times that of its healthy twin."""

NOT_TRIED = (
    "Not tried: faults that no key of the config mends (labels, data, system); clipping, since the "
    "optimizers of both "
    "programs bound each update whatever the gradient; half precision, which on a CPU harms neither; "
    "halting without "
    "exploration, of which runs of this length and size suffer less than a tenth."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One rerun after a patch."""

    remedy: str
    changes: str
    loss: float
    verified: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one fault. `place` is that of the true cause among the hypotheses, 0 when it is not
    named."""

    fault: str
    cause: str
    place: int
    verdict: str
    sick: float
    healthy: float
    trials: tuple[Trial, ...]
    random: Trial | None

    def recovered(self, loss: float) -> bool:
        """Whether a rerun with this final loss is well again."""
        return bool(np.isfinite(loss)) and loss <= ENOUGH * self.healthy

    def gap_closed(self, loss: float) -> float:
        """Share of the distance between sick and healthy that was made good; 0 when it got worse, 1 when all
        of it."""
        if not np.isfinite(loss):
            return 0.0
        if not np.isfinite(self.sick):
            return float(self.recovered(loss))
        return min(1.0, max(0.0, (self.sick - loss) / max(self.sick - self.healthy, 1e-12)))


_HEAD = (
    "\n| fault | cause, place | healthy | sick | remedy | changes | loss | gap closed | verified | "
    "recovered |\n" + "|---" * 10 + "|"
)


def report(outcomes: Sequence[Outcome], milder: Sequence[Outcome], programs: Sequence[str]) -> str:
    """The page. `milder` faults have a table of their own and count in no share of the first."""
    lines = [
        "# The closed loop\n",
        f"Written by `python -m benchmarks.closed_loop` at commit {commit()}. Programs: "
        f"{'; '.join(programs)}. One fault in the config at a time, "
        "every one with each seed. Loss is that of the last evaluation, or where there are fewer than "
        "three the mean of the last "
        f"tenth of training; recovered means at most {ENOUGH:g} times that of the healthy twin of the "
        f"same seed and length. A "
        "remedy is kept when its own `verify` says so, else undone and the patch of the next hypothesis "
        "tried.\n",
        "| | recovered |\n|---|---|",
        *_shares(outcomes),
        _HEAD,
        *(row for one in outcomes for row in _rows(one)),
    ]
    lines += [
        "\n## Milder faults\n",
        f"All of the above are gross. Of milder ones the top remedy mends {_mended(milder)}. Where a "
        f"rerun is better than its "
        "healthy twin, the twin's rate was not the best for its size.",
        _HEAD,
        *(row for one in milder for row in _rows(one)),
        f"\n{NOT_TRIED}\n",
    ]
    return "\n".join(lines)


def _shares(outcomes: Sequence[Outcome]) -> list[str]:
    """How many recovered by which means, and how often `verify` was right."""
    tried = [one for one in outcomes if one.trials]
    best = sum(any(one.recovered(trial.loss) for trial in one.trials) for one in tried)
    kept = sum(one.trials[-1].verified and one.recovered(one.trials[-1].loss) for one in tried)
    chance = sum(one.random is not None and one.recovered(one.random.loss) for one in outcomes)
    right = [trial.verified == one.recovered(trial.loss) for one in tried for trial in one.trials]
    total = len(outcomes)
    return [
        f"| top remedy | {_mended(outcomes)} |",
        f"| top remedy, else that of the second hypothesis | {wilson(best, total)} |",
        f"| the same, and verified | {wilson(kept, total)} |",
        f"| no change | {wilson(sum(one.recovered(one.sick) for one in outcomes), total)} |",
        f"| a random remedy | {wilson(chance, total)} |",
        f"\n`verify` agrees with the loss after {wilson(sum(right), len(right))} of the reruns.",
    ]


def _mended(outcomes: Sequence[Outcome]) -> Proportion:
    """How many of them the top remedy brought back."""
    return wilson(
        sum(bool(one.trials) and one.recovered(one.trials[0].loss) for one in outcomes), len(outcomes)
    )


def _rows(one: Outcome) -> list[str]:
    rows = [(trial.remedy, trial) for trial in one.trials]
    rows = rows or [("none offered", Trial("", f"the verdict was {one.verdict}", one.sick, verified=False))]
    rows += [(f"random: {one.random.remedy}", one.random)] if one.random else []
    lines = []
    for number, (remedy, trial) in enumerate(rows):
        head = [
            one.fault,
            f"`{one.cause}`, {one.place or 'not named'}",
            f"{one.healthy:.3f}",
            f"{one.sick:.3f}",
        ]
        marks = [f"{one.gap_closed(trial.loss):.0%}", "yes" if trial.verified else "no"]
        marks.append("yes" if one.recovered(trial.loss) else "no")
        cells = [*(head if not number else [""] * 4), remedy, trial.changes, f"{trial.loss:.3f}", *marks]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
