"""What several rewards of one run say of each other: those of training and of the evaluation, those of parts
and of the whole, and a rating by games against itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hrmdoc.measures.function import function
from hrmdoc.measures.outcome import outcome
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series

RATINGS = frozenset({"elo", "trueskill", "glicko"})
FEWEST = 8
APART = 0.1
"""Of what training has gained: an evaluation that moved by less has not heard of it."""
GONE = -30.0
"""Of a reward that is a tenth of the difference of log-probabilities, as it is by default."""
NEAR_ZERO = 5.0
GREAT = 10.0
"""Units of its noise that a reward gains where something was learned."""


def _finite(series: Series) -> FloatArray:
    return series.values[np.isfinite(series.values)]


def _rewards(run: Run, *, held_out: bool) -> Iterator[tuple[Series, FloatArray]]:
    for series in run.series.values():
        if series.nature.family == "reward" and series.nature.held_out is held_out:
            values = _finite(series)
            if len(values) >= FEWEST:
                yield series, values


@function("run", roles=0)
def rated_by_games(run: Run) -> Series | None:
    """A rating of players. Where a policy plays against copies of itself, what one wins the other loses, and
    the mean reward says nothing."""
    rated = (one for one in run.series.values() if not RATINGS.isdisjoint(one.nature.words))
    return next((one for one in rated if len(one) >= FEWEST), None)


@function("run", roles=0)
def rewarded_elsewhere(run: Run) -> Series | None:
    """A reward that is not zero at half of the points of the last half: another one which is, is a part that
    does not count here."""
    for series, values in (*_rewards(run, held_out=False), *_rewards(run, held_out=True)):
        if np.count_nonzero(values[len(values) // 2 :]) * 2 >= len(values) - len(values) // 2:
            return series
    return None


@function("run", roles=0)
def reward_apart(run: Run) -> Series | None:
    """The reward of evaluations which has moved by less than a tenth of what that of training has gained and
    kept, and was never near it."""
    gains = []
    for _, values in _rewards(run, held_out=False):
        judged = outcome(values, "max")
        if judged is not None and judged.kept > 0.5 and judged.gain > GREAT * judged.noise > 0.0:
            gains.append((judged.gain, -judged.end))
    for series, values in _rewards(run, held_out=True):
        for gain, reached in gains:
            still = float(np.ptp(values)) < APART * gain
            if still and middle(values) < reached - 0.5 * gain:
                return series
    return None


@function("run", roles=0)
def reward_of_chosen_gone(run: Run) -> Series | None:
    """The implicit reward of the chosen answers, which begins near zero and stands at -30 or below for the
    last third of the run."""
    for series in run.series.values():
        if "chosen" not in series.nature.words or series.nature.family != "reward":
            continue
        values = _finite(series)
        if (
            len(values) >= FEWEST
            and abs(values[0]) < NEAR_ZERO
            and values[-(len(values) // 3) :].max() < GONE
        ):
            return series
    return None
