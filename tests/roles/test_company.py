"""hrmdoc.roles.company: names that mean another thing in the company of others."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import RoleMap, settle
from hrmdoc.roles.families import Families, classify
from hrmdoc.roles.quantities import Meanings

BOOK = rulebook.load()


def test_what_is_won_against_a_player_at_random_is_the_reward() -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", {"win_vs_random": 9, "loss_vs_random": 9, "win_vs_previous": 9, "entropy": 9})
    assert roles("win_vs_random") == RoleGuess("rl.reward", guessed=True)
    assert roles("loss_vs_random").role is None
    assert roles("win_vs_previous").role is None


def test_meters_of_time_and_data_tell_what_a_step_took_and_how_long_it_waited() -> None:
    roles = RoleMap(BOOK)
    roles.settle("unknown", {"Time": 9, "Data": 9, "Loss": 9})
    assert [roles(name).role for name in ("Time", "Data")] == ["step_time", "data_time"]
    roles.settle("unknown", {"Time": 9, "Loss": 9})
    assert roles("Time").role is None


@pytest.mark.parametrize(
    ("names", "lost"),
    [
        (["wins", "losses", "epsilon"], ["losses"]),
        (["p1_wins", "p1_losses", "loss"], ["p1_losses"]),
        (["win", "loss", "draw"], ["loss"]),
        (["Win Rate", "Loss Rate"], ["Loss Rate"]),
        (["Games won", "Games lost"], ["Games lost"]),
        (["loss", "win"], []),
        (["losses", "wins_total"], []),
        (["loss", "val_loss", "wins"], []),
    ],
)
def test_losses_beside_wins_are_games(names: list[str], lost: list[str]) -> None:
    run = Run("")
    run.role_of = RoleMap(BOOK)
    for name in names:
        run.add(Points(name, np.arange(4), np.arange(4.0), np.full(4, np.nan), "a"))
    settle(run, "generic")
    classify(run, Families(BOOK.families.values()), Meanings(BOOK.quantities.values()))
    games = {one.key.metric: one for one in run.series.values() if one.key.metric in lost}
    assert sorted(games) == sorted(lost)
    assert all(one.role.role is None and one.nature.family == "" for one in games.values())
    others = [one for one in run.series.values() if "loss" in one.key.metric and one.key.metric not in lost]
    assert all(one.role.role is not None or one.nature.family == "loss" for one in others)
