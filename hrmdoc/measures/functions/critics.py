"""What a critic says of returns, held against the returns that the run logs: both are of one reward, if the
learner sees the one that is counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrmdoc.measures.function import Member, function
from hrmdoc.measures.pyramid import middle
from hrmdoc.record.records import FloatArray
from hrmdoc.record.series import Series

VALUES = frozenset({"q", "qval", "qvals", "qvalue", "qvalues", "vval", "vvals"})
"""Words of estimates of a return, those of states as `value estimate`."""
NOT_LEVELS = frozenset(
    """
    std var variance min max loss losses error err weight coef thresh threshold clip grad norm lr rate
    curiosity gail intrinsic rnd bonus entropy chosen rejected margin margins penalty cost
    """.split()  # noqa: SIM905 (a list of words reads better than quoted ones)
)
"""Words of numbers that are no level of the values, or values of another reward than the task's."""
LEAST_SHARE = 0.01
"""An estimate below this share of the return says too little for its sign to count."""
UNSEEN = 1e-4
"""Spread of what the critic is to tell, as a share of the return, below which it is not of that return."""
STILL = 0.01
"""Share of the usual return within which most of them are one and the same."""
LEAST = 1.0
"""An estimate below lies too near to its own opposite."""
COMMON = 100.0
"""A return above is taken for one that the learner is given in smaller units."""


def _is_estimate(series: Series) -> bool:
    words = set(series.nature.words)
    named = not VALUES.isdisjoint(words) or {"value", "estimate"} <= words
    return named and NOT_LEVELS.isdisjoint(words)


def _is_return(series: Series) -> bool:
    return series.nature.family == "reward" and NOT_LEVELS.isdisjoint(series.nature.words)


def _is_explained(series: Series) -> bool:
    words = set(series.nature.words)
    return bool({"explained", "explainedvar", "explainedvariance"} & words)


def _is_value_loss(series: Series) -> bool:
    return series.role.role == "rl.value_loss"


@function(
    "families",
    roles=0,
    points=10,
    families=("reward", ""),
    among=lambda series: _is_estimate(series) or _is_return(series),
)
def values_against_returns(members: Sequence[Member]) -> Series | None:
    """An estimate of the return, such as a mean of Q, that has the other sign than the return in all of the
    last half of the run: what the critic learns from is not what is counted."""
    signs = {sign for one in members if _is_return(one.series) and (sign := _sign(one.values))}
    sizes = [abs(_late(one.values)) for one in members if _is_return(one.series)]
    if len(signs) != 1:
        return None
    for one in members:
        opposed = _is_estimate(one.series) and _sign(one.values) == -next(iter(signs))
        if opposed and abs(_late(one.values)) > LEAST_SHARE * max(sizes):
            return one.series
    return None


@function(
    "families",
    roles=0,
    points=10,
    families=("reward", "loss", ""),
    among=lambda series: _is_return(series) or _is_estimate(series) or series.role.role == "rl.policy_loss",
)
def policy_loss_reversed(members: Sequence[Member]) -> Series | None:
    """The loss of a policy that is its critic's estimate itself, within a tenth, in the last half of a run
    whose return has not risen; what a policy minimises is the opposite of it."""
    if any(_late(one.values) > middle(one.values[:3]) for one in members if _is_return(one.series)):
        return None
    estimates = [_late(one.values) for one in members if _is_estimate(one.series)]
    for one in members:
        if one.series.role.role == "rl.policy_loss":
            level = _late(one.values)
            if any(abs(level - said) < 0.1 * abs(said) and abs(said) > LEAST for said in estimates):
                return one.series
    return None


@function(
    "families",
    roles=0,
    points=0,
    families=("reward", "loss", ""),
    among=lambda series: _is_return(series) or _is_explained(series) or _is_value_loss(series),
)
def critic_sees_nothing(members: Sequence[Member]) -> Series | None:
    """A share of the variance explained that is no number from the second point on, as where there is none;
    or a value loss by which what the critic is to tell hardly varies, beside returns that do."""
    returns = [one.values for one in members if _is_return(one.series) and _varies(one.values)]
    explained = next((one for one in members if _is_explained(one.series)), None)
    if not returns or explained is None or len(explained.series.values) < 10:
        return None
    told = np.isfinite(explained.series.values[1:])
    if told.mean() < 0.2:
        return explained.series
    size = min(COMMON, max(abs(middle(values)) for values in returns))
    for one in members:
        if _is_value_loss(one.series) and len(one.values) >= 10:
            unexplained = max(1e-3, 1.0 - _late(explained.values))
            if 0.0 < np.sqrt(max(0.0, _late(one.values)) / unexplained) < UNSEEN * size:
                return one.series
    return None


def _varies(returns: FloatArray) -> bool:
    """Whether they still do: a return that every episode earns in full leaves the critic nothing to tell."""
    if len({*returns.tolist()}) <= 2:
        return False
    late = returns[-max(1, len(returns) // 2) :]
    usual = middle(late)
    return middle(np.abs(late - usual)) > STILL * abs(usual)


def _late(values: FloatArray) -> float:
    return middle(values[-max(1, len(values) // 2) :])


def _sign(values: FloatArray) -> int:
    """The sign of all values of the last half, 0 where they have none in common."""
    late = values[-max(1, len(values) // 2) :]
    return int((late > 0).all()) - int((late < 0).all())
