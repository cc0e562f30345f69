"""What an incident is made of, and by what its healed run is judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from hrmdoc.analysis import Analysis
    from hrmdoc.record.series import Series

TRAINER = (sys.executable, "-m", "hrmdoc", "train")
Role = Literal["twin", "sick", "healed"]


def program(name: str, *words: str, processes: int = 1) -> tuple[str, ...]:
    """The command of a program of the replays, several processes of it by torchrun."""
    launcher = (
        ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}")
        if processes > 1
        else ()
    )
    return (sys.executable, *launcher, "-m", f"hrmdoc.trainer.replay.{name}", *words)


@dataclass(frozen=True, slots=True)
class Goal:
    """What the healed run must reach in one metric, at its end: better than the sick one, and beyond `bound`.

    Attributes:
        metric: a role, or a name of the log.
        higher: whether more is better.
        form: how it is written.
        bound: what it must be above (below, where less is better); None where only the sick run counts.
        against_sick: whether it must be better than the sick run's.
    """

    label: str
    metric: str
    higher: bool = True
    form: str = ".2f"
    bound: float | None = None
    against_sick: bool = True

    def curve(self, analysis: Analysis) -> Series | None:
        """The metric as a run has it."""
        every = analysis.run.series.values()
        return analysis.run.best(self.metric) or next(
            (one for one in every if one.key.metric == self.metric), None
        )

    def at_end(self, analysis: Analysis) -> float | None:
        """Where the curve ends; None where there is none."""
        series = self.curve(analysis)
        return float(series.values[-1]) if series is not None and len(series) else None

    def reached(self, sick: float | None, healed: float | None) -> bool:
        """Whether it is; a run that never came to the metric is worse than any."""
        if healed is None or healed != healed:
            return False
        sign = 1 if self.higher else -1
        beyond = self.bound is None or sign * healed > sign * self.bound
        better = not self.against_sick or sick is None or sick != sick or sign * healed > sign * sick
        return beyond and better


@dataclass(frozen=True, slots=True)
class Story:
    """An incident.

    Attributes:
        config: the settings with the fault, as YAML.
        well: the settings of the healthy twin that differ, as text in `config` -> text instead.
        program: what trains; the config and `run_dir=FOLDER` follow.
        enough_steps: steps after which a diagnosis stops the sick run: a curve that a person can judge, and
            one evaluation.
        sure: from this probability of a cause on the sick run is stopped.
        every: makes all changes that go together, else the first that fits.
        seconds: what it takes on two laptop cores, about.
        rungs: how often a patch may be made: while the run still fails in the same way, and no more.
    """

    name: str
    title: str
    introduction: str
    config: str
    well: Mapping[str, str]
    goals: tuple[Goal, ...]
    program: tuple[str, ...] = TRAINER
    enough_steps: int = 300
    sure: float = 0.95
    every: bool = False
    rungs: int = 1
    seconds: int = 60

    @property
    def twin_config(self) -> str:
        """The settings of the healthy twin."""
        text = self.config
        for faulty, well in self.well.items():
            assert faulty in text, faulty
            text = text.replace(faulty, well)
        return text

    def reached(self, sick: Analysis, healed: Analysis) -> bool:
        """Whether the healed run is what it should be, by all goals."""
        return all(goal.reached(goal.at_end(sick), goal.at_end(healed)) for goal in self.goals)
