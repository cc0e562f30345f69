"""rules/experience/: what runs that people labelled tell of others, as `benchmarks.experience` counted it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from msgspec import Struct


class Steps(Struct, forbid_unknown_fields=True, frozen=True):
    """What a measure adds to the logarithm of the odds: `points[0]` up to and at `above[0]`, `points[1]` up
    to and at `above[1]`, and so on; the last of them beyond all. There is one more of `points` than of
    `above`."""

    above: tuple[float, ...]
    points: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.points) != len(self.above) + 1:
            raise ValueError(f"{len(self.above)} limits need {len(self.above) + 1} points")
        if list(self.above) != sorted({*self.above}):
            raise ValueError("the limits must rise")

    def of(self, value: float) -> float:
        """Its points for a value of the measure."""
        return self.points[bisect_left(self.above, value)]


class Experience(Struct, forbid_unknown_fields=True, frozen=True):
    """rules/experience/<id>.yaml.

    Attributes:
        runs: how many were counted.
        faults: on how many of these somebody should have been alerted.
        start: logarithm of the odds of a run of which nothing is known, against those of any run.
        measures: by name, such as `eval_loss.kept`; one that a run does not have adds nothing.
    """

    id: str
    title: str
    source: str
    runs: int
    faults: int
    start: float
    measures: dict[str, Steps]

    def log_ratio(self, measured: Mapping[str, float]) -> float:
        """How much likelier a run with a fault looks so than one without, as a logarithm."""
        return self.start + sum(
            steps.of(value)
            for name, steps in self.measures.items()
            if (value := measured.get(name)) is not None
        )
