"""What expressions of rules may ask of series and symptoms: `last(train.loss)`, `count(eval.loss)`,
`present('loss-zero')`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hrmdoc.examination import ranks, shapes, terms
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.run import FloatArray, Series
from hrmdoc.rulebook import expressions


def functions(questions: Questions) -> dict[str, Callable[..., Any]]:
    """All functions by their names: the methods of `Questions`, and `known(lora.rank)`, which asks of
    facts."""
    return {name: getattr(questions, name) for name in NAMES} | expressions.about(questions.scene.facts)


PERCENTS = 10.0
"""Accuracies above are percents: two of their decimals are worth four of a share."""


class Questions:
    """Each public method is a function of that name, of a role or of a symptom.

    Where one file holds several runs, one behind the other, they ask of the last one.

    They raise `expressions.MissingInput` where what they are asked of is not there, unless they say
    otherwise. Values that are not finite are left out.

    Args:
        until: answer as of this step, as if the run had come no further; None for all there is.

    Attributes:
        asked: the series that were asked about, in that order.
        rank: the rank that stands out, where ranks were compared.
    """

    def __init__(self, scene: Scene, until: int | None = None) -> None:
        self.scene = scene
        self._until = until
        self.asked: list[Series] = []
        self.rank: int | None = None

    def count(self, role: str) -> int:
        """How many points the role has; 0 where it is not logged."""
        series = self.scene.run.best(role)
        return 0 if series is None else len(series.values[self._part(series)])

    def finite(self, role: str) -> int:
        """How many of its values are finite; 0 where it is not logged."""
        series = self.scene.run.best(role)
        return 0 if series is None else int(np.isfinite(series.values[self._part(series)]).sum())

    def last_step(self, role: str) -> int:
        """The highest step reached."""
        series = self._series(role)
        return int(series.steps[self._part(series)].max())

    def first_step(self, role: str) -> int:
        """The lowest step; missing where the points count epochs, at the end of which many steps are done."""
        series = self._series(role)
        if series.axis == "epoch":
            raise expressions.MissingInput(f"{role} by steps")
        return int(series.steps.min())

    def starts(self, role: str) -> int:
        """How many runs stand one behind the other in the same file, told by a step counter that falls back
        to its beginning."""
        return 1 + len(self.scene.falls(self._series(role)).fresh)

    def first(self, role: str) -> float:
        """The first value."""
        return float(self._finite(role)[0])

    def last(self, role: str) -> float:
        """The last value."""
        return float(self._finite(role)[-1])

    def opening(self, role: str) -> float:
        """The highest of the first three values: where a series starts, noise allowed for."""
        return float(self._finite(role)[:3].max())

    def closing(self, role: str) -> float:
        """The lowest of the last three values: where a series that went up stands, single points above it
        left aside."""
        return float(self._finite(role)[-3:].min())

    def min_of(self, role: str) -> float:
        """The lowest value."""
        return float(self._finite(role).min())

    def max_of(self, role: str) -> float:
        """The highest value."""
        return float(self._finite(role).max())

    def mean_of(self, role: str) -> float:
        """The mean."""
        return float(self._finite(role).mean())

    def median_of(self, role: str) -> float:
        """The median."""
        return middle(self._finite(role))

    def before_break(self, role: str) -> float:
        """Level right before the first value that is not finite, as a share of that of the first half until
        then."""
        series = self._series(role)
        values = series.values[self._part(series)]
        broken = np.flatnonzero(~np.isfinite(values))
        sound = values[: broken[0]] if len(broken) else values
        usual = middle(sound[: len(sound) // 2]) if len(sound) >= 10 else 0.0
        if usual <= 0:
            raise expressions.MissingInput(f"more points of {role}")
        return float(middle(sound[-5:]) / usual)

    def before_zero(self, role: str) -> float:
        """Level of the last values that are not zero, as a share of the first; infinite where all are."""
        values = np.abs(self._finite(role))
        nonzero = values[values > 0]
        return float(middle(nonzero[-5:]) / nonzero[0]) if len(nonzero) else math.inf

    def kept_until_zero(self, role: str) -> float:
        """The lowest value before the zeros at the end, as a share of the first; 0 where there are others, or
        none at the end."""
        return shapes.before_zeros(self._finite(role))

    def rises(self, role: str) -> float:
        """Share of the points that lie above the one before them."""
        values = self._finite(role)
        return float(np.mean(np.diff(values) > 0)) if len(values) > 1 else 0.0

    def leap(self, role: str) -> float:
        """The largest rise from one value to the next, as a share of the lowest value before it; 0 where
        nothing rises.

        The first three rises do not count: early on, everything moves.
        """
        values, at = self._leap(role)
        lowest = float(values[: at + 1].min())
        return max(0.0, float(values[at + 1] - values[at]) / lowest) if lowest > 0 else 0.0

    def leap_kept(self, role: str) -> float:
        """How much of that rise is there at the end: 1 when all, 0 when none; above 1 where the values went
        on rising."""
        values, at = self._leap(role)
        rise = float(values[at + 1] - values[at])
        return float(values[-1] - values[at]) / rise if rise > 0 else 0.0

    def leap_alone(self, role: str) -> float:
        """That rise in units of the usual distance between neighbours: a few among many like it, much where
        it stands alone."""
        values, at = self._leap(role)
        usual = middle(np.abs(np.diff(values)))
        return float(values[at + 1] - values[at]) / usual if usual > 0 else math.inf

    def back_after(self, role: str) -> float:
        """How many points behind that rise three quarters of it are made up for, but for single ones;
        infinite where never."""
        values, at = self._leap(role)
        later = values[at + 1 :]
        if len(later) < 5:
            raise expressions.MissingInput(f"more points of {role}")
        before = middle(values[max(0, at - 4) : at + 1])
        limit = before + 0.25 * float(later[0] - values[at])
        smooth = np.median([later[:-2], later[1:-1], later[2:]], axis=0)
        back = np.flatnonzero(smooth <= limit)
        return float(back[0]) if len(back) else math.inf

    def anew(self, role: str) -> float:
        """How unlike the first three values those behind the largest rise are, as a share of all that had
        been gained until then.

        Near 0 where the same curve begins a second time; infinite where nothing had been gained.
        """
        values, at = self._leap(role)
        again = values[at + 1 : at + 4]
        gained = float(values[0] - values[at])
        if len(again) < 3:
            raise expressions.MissingInput(f"more points of {role}")
        return float(np.abs(again - values[:3]).max()) / gained if gained > 0 else math.inf

    def jitter(self, role: str, finest: float = 0.0) -> float:
        """Usual distance between neighbouring points of the second half, as a share of their level.

        Missing where the last digit that is written is a larger share of the level than `finest`: what is
        rounded stands still.
        """
        values = self._finite(role)
        half = values[len(values) // 2 :]
        if len(half) < 3:
            raise expressions.MissingInput(f"more points of {role}")
        level = middle(np.abs(half))
        if finest and _last_digit(values) > finest * level:
            raise expressions.MissingInput(f"more digits of {role}")
        return middle(np.abs(np.diff(half))) / level if level > 0 else 0.0

    def unchanged(self, role: str) -> int:
        """How many values at the end are the same to the last digit; 0 for values of three decimals or fewer,
        of percents two."""
        last = float(self._finite(role)[-1])
        percents = role.endswith("accuracy") and last >= PERCENTS
        return 0 if last == round(last, 1 if percents else 3) else self.repeated(role)

    def replayed(self, role: str) -> int:
        """How many values at the end repeat those a few points before; 0 where the step counter falls back: a
        run told twice."""
        series = self._series(role)
        return (
            0
            if (np.diff(series.steps[self._part(series)]) < 0).any()
            else shapes.replayed(self._finite(role))
        )

    def from_start(self, role: str) -> bool:
        """Whether the points begin where the run does: the first lies no further from step 0 than two points
        from one another."""
        series = self._series(role)
        steps = np.sort(series.steps[self._part(series)])
        gaps = np.diff(steps)
        gaps = gaps[gaps > 0]  # np.unique would load numpy.ma
        return len(gaps) > 0 and int(steps[0]) <= 2 * middle(gaps.astype(np.float64))

    def spread(self, role: str, after: int = 0) -> float:
        """Distance from the lowest to the highest value behind the first `after`, as a share of their
        median."""
        values = self._finite(role)[after:]
        if len(values) < 3:
            raise expressions.MissingInput(f"more points of {role}")
        return shapes.spread(values)

    def peaks(self, role: str, times: float = shapes.PEAK) -> int:
        """How many values lie at more than so many `times` both of their neighbours."""
        return shapes.peaks(self._finite(role), times)

    def turned(self, role: str) -> float:
        """Share of the gain that has been given back by a curve that fell, turned once and rises; else 0."""
        return shapes.turned(self._finite(role))

    def per_error(self, loss: str, accuracy: str) -> float:
        """Loss for every wrong answer, where it is the same at each point; else 0."""
        losses, accuracies = self._finite(loss), self._finite(accuracy)
        if len(losses) != len(accuracies) or len(losses) < 2:
            raise expressions.MissingInput(f"as many points of {accuracy} as of {loss}, two at least")
        return shapes.per_error(losses, accuracies)

    def repeated(self, role: str) -> int:
        """How many values at the end are the same, however few digits they have."""
        values = self._finite(role)
        other = np.flatnonzero(values != values[-1])
        return len(values) - (int(other[-1]) + 1 if len(other) else 0)

    def never_finite(self, role: str) -> bool:
        """Whether a term of the role was no number at any point, and no whole that is known says otherwise;
        never missing."""
        return self._told_by(terms.never_finite(self.scene.run, role))

    def at_even_guess(self, role: str) -> bool:
        """Whether one of its terms costs what an even guess does at all points while another moves; never
        missing."""
        return self._told_by(terms.at_even_guess(self.scene.run, role))

    def idle_term(self, role: str) -> bool:
        """Whether a term of the loss was exactly zero at all points while the whole, of this role, was not;
        never missing."""
        return self._told_by(terms.idle(self.scene.run, role))

    def idle_boxes(self) -> bool:
        """Whether each loss that places boxes was exactly zero at all points; never missing."""
        return self._told_by(terms.idle_boxes(self.scene.run))

    def at_clip(self) -> bool:
        """Whether a loss of any name stays at the logarithm of a number that probabilities are clipped at."""
        if not terms.has_loss(self.scene.run):
            raise expressions.MissingInput("train.loss")
        return self._told_by(terms.at_clip(self.scene.run))

    def rank_ratio(self, role: str) -> float:
        """The highest rank's level over the median of all ranks."""
        levels, usual = self._rank_levels(role, 3)
        self.rank = max(levels, key=lambda rank: levels[rank])
        return levels[self.rank] / usual

    def rank_spread(self, role: str) -> float:
        """Highest minus lowest level over the median of all ranks."""
        levels, usual = self._rank_levels(role, 2)
        self.rank = max(levels, key=lambda rank: abs(levels[rank] - usual))
        return (max(levels.values()) - min(levels.values())) / usual

    def present(self, symptom: str) -> bool:
        """Whether the symptom shows now."""
        finding = self.scene.found(symptom)
        if finding is None or finding.state == "not_evaluated":
            raise expressions.MissingInput(symptom)
        return finding.state == "present" and self._by_then(finding)

    def seen(self, symptom: str) -> bool:
        """Whether it shows or did before; never missing."""
        finding = self.scene.found(symptom)
        return finding is not None and finding.state in ("present", "resolved") and self._by_then(finding)

    def began(self, symptom: str) -> int:
        """The step at which it first showed."""
        finding = self.scene.found(symptom)
        if finding is None or finding.first_step is None:
            raise expressions.MissingInput(symptom)
        return finding.first_step

    def episodes(self, symptom: str) -> int:
        """How often it opened so far; never missing."""
        finding = self.scene.found(symptom)
        return 0 if finding is None else finding.count

    def peak(self, symptom: str) -> float:
        """The metric at its strongest."""
        finding = self.scene.found(symptom)
        if finding is None or "peak" not in finding.values:
            raise expressions.MissingInput(symptom)
        return float(finding.values["peak"])

    def _rank_levels(self, role: str, least: int) -> tuple[dict[int, float], float]:
        """The level of each rank, of `least` ranks at least, and their median, which is not 0."""
        levels = ranks.levels(self.scene.run, role)
        usual = abs(float(np.median(list(levels.values())))) if levels else 0.0
        if len(levels) < least or usual == 0:
            raise expressions.MissingInput(f"{role} of {least} ranks")
        return levels, usual

    def _told_by(self, series: Series | None) -> bool:
        if series is not None:
            self.asked.append(series)
        return series is not None

    def _by_then(self, finding: Finding) -> bool:
        """Whether it had begun at the step that is asked about, as far as anybody knows."""
        return self._until is None or finding.first_step is None or finding.first_step <= self._until

    def _series(self, role: str) -> Series:
        series = self.scene.run.best(role)
        if series is None or not len(series.values[self._part(series)]):
            raise expressions.MissingInput(role)
        self.asked.append(series)
        return series

    def _part(self, series: Series) -> slice:
        """The points of the last run in `series`, up to the step that is asked about."""
        fresh = self.scene.falls(series).fresh
        begin = fresh[-1] if fresh else 0
        if self._until is None:
            return slice(begin, None)
        progress = np.maximum.accumulate(series.steps[begin:])
        return slice(begin, begin + int(np.searchsorted(progress, self._until, side="right")))

    def _leap(self, role: str) -> tuple[FloatArray, int]:
        """The finite values, and the index of the one before the largest rise."""
        values = self._finite(role)
        if len(values) < 5:
            raise expressions.MissingInput(f"more points of {role}")
        return values, 3 + int(np.diff(values[3:]).argmax())

    def _finite(self, role: str) -> FloatArray:
        series = self._series(role)
        values = series.values[self._part(series)]
        values = values[np.isfinite(values)]
        if not len(values):
            raise expressions.MissingInput(role)
        return values


def _last_digit(values: FloatArray) -> float:
    """The unit of the last decimal that is written, 0 where there are more than eight."""
    written = (10.0**-decimals for decimals in range(9) if np.array_equal(values, np.round(values, decimals)))
    return next(written, 0.0)


NAMES = tuple(name for name in vars(Questions) if not name.startswith("_"))
