"""What several rewards of one run say of each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from hrmdoc.measures.function import Function
from hrmdoc.measures.functions import rewards
from hrmdoc.record.series import Nature

RISES = np.linspace(-300.0, 300.0, 60) + np.sin(np.arange(60.0)) * 5.0


class Logged:
    """A series of a reward, by the words of its name."""

    def __init__(self, name: str, values: Any, family: str = "reward") -> None:
        self.name, self.values = name, np.array(values, np.float64)
        self.nature = Nature(family, words=tuple(name.split()), held_out="eval" in name)

    def __len__(self) -> int:
        return len(self.values)


def shown(function: Function, *series: Logged) -> str | None:
    run = SimpleNamespace(series=dict(enumerate(series)))
    found = function(run)
    return None if found is None else str(found.name)


def test_evaluations_are_apart_where_they_do_not_move_as_training_gains() -> None:
    train, still = Logged("reward", RISES), Logged("eval reward", [-290.0, -280.0] * 6)
    assert shown(rewards.reward_apart, train, still) == "eval reward"
    assert shown(rewards.reward_apart, train, Logged("eval reward", np.linspace(-290, -200, 12))) is None
    assert shown(rewards.reward_apart, train, Logged("eval reward", [290.0, 280.0] * 6)) is None, "as good"
    assert shown(rewards.reward_apart, train, Logged("eval reward", [-290.0] * 7)) is None, "too few"
    assert shown(rewards.reward_apart, Logged("reward", RISES[::-1]), still) is None, "training gains nothing"
    assert shown(rewards.reward_apart, train) is None
    broken = [np.nan, *[-290.0, -280.0] * 6]
    assert shown(rewards.reward_apart, train, Logged("eval reward", broken)) == "eval reward"


def test_another_reward_counts_where_it_is_something_at_half_of_the_late_points() -> None:
    nothing = Logged("reward", [0.0] * 10)
    assert shown(rewards.rewarded_elsewhere, nothing) is None
    team = Logged("team reward", [0.0] * 7 + [0.5] * 3)
    assert shown(rewards.rewarded_elsewhere, nothing, team) == "team reward"
    assert shown(rewards.rewarded_elsewhere, nothing, Logged("team reward", [0.0] * 8 + [0.5] * 2)) is None
    assert shown(rewards.rewarded_elsewhere, nothing, Logged("eval reward", [0.5] * 10)) == "eval reward"


def test_a_rating_says_that_a_policy_plays_against_itself() -> None:
    assert shown(rewards.rated_by_games, Logged("self play elo", [1200.0] * 8, "")) == "self play elo"
    assert shown(rewards.rated_by_games, Logged("elo", [1200.0] * 7, "")) is None
    assert shown(rewards.rated_by_games, Logged("velocity", [1200.0] * 8, "")) is None


def test_preferred_answers_are_gone_where_their_reward_stands_far_below_zero() -> None:
    def gone(values: list[float], name: str = "rewards chosen") -> bool:
        return shown(rewards.reward_of_chosen_gone, Logged(name, values)) == name

    assert gone([4.9, *[-30.1] * 8])
    assert not gone([5.0, *[-30.1] * 8]), "it began elsewhere: no difference to a reference"
    assert not gone([0.0, *[-30.1] * 7, -30.0])
    assert not gone([0.0, *[-30.1] * 8], "rewards rejected")
    assert not gone([0.0, *[-30.1] * 6]), "too few"
