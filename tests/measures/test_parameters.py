"""Parameters of measures: what they are by default, on which rules of users rely, and what they may be."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc import measures
from hrmdoc.errors import RuleError

DEFAULTS: dict[str, dict[str, Any]] = {
    "best_kept_elsewhere": {"kept": -1},
    "chance": {"classes": (), "of": "loss", "share": 0.6, "scatter": 0.15},
    "clumps": {"window": 16, "finest": 1 / 15},
    "correlation": {"material": 0.1},
    "divergence": {"goal": "min", "progress": 0.2, "sustained": 0.1},
    "gap": {"stalled": False, "improvement": 0.03, "falling": 0.1},
    "growth": {"window": 24},
    "guessing": {"share": 0.6, "most": 1000},
    "hits_below_chance": {"items": 0},
    "idle_beside_others": {"moves": 0.1},
    "initial": {"expected": None, "classes": (), "points": 3, "until_step": 10.0},
    "jitter": {"finest": 0.0},
    "jump": {"negligible": 0.01},
    "level": {"absolute": False, "unit": 1.0, "smooth": 1, "ceiling": None, "after_steps": 0.0},
    "level_shift": {"window": 16, "floor": 0.05},
    "lost_share": {"least": 20},
    "oscillation": {"against": "level", "share": 0.75, "trend": 1.0, "gain": 0.1},
    "overfit": {
        "goal": "min",
        "falling": 0.05,
        "sustained": 0.1,
        "progress": 0.05,
        "given_back": 0.15,
        "scatters": 0.5,
    },
    "peaks": {"times": 2.0},
    "plateau": {"goal": "min", "improvement": 0.01, "enough": 0.05, "good": None, "doubt": 0.0},
    "progress": {"goal": "min", "classes": ()},
    "ranked_as_guessed": {"items": 0},
    "ratio": {"smooth": 9},
    "recent_ratio": {"recent": 0.1},
    "relapse": {
        "goal": "min",
        "least": 4,
        "within": 2,
        "beyond": 4.0,
        "material": 0.2,
        "hold": 0.4,
        "small": 0.3,
    },
    "rising": {"total": 1.0},
    "run": {
        "at_most": None,
        "at_least": None,
        "absolute": False,
        "unit": "points",
        "tolerance": 1e-9,
        "later": False,
    },
    "schedule": {"name": "constant", "peak": 1.0, "warmup": 0.0, "total": 1.0, "minimum": 0.0},
    "seconds_above": {"above": 0.0, "leave": None},
    "seconds_below": {"below": 0.0, "leave": None},
    "seconds_until": {"level": 0.0, "over": 600.0},
    "share": {"points": 1},
    "spike": {
        "window": 64,
        "floor": 0.05,
        "progress_floor": 0.02,
        "least": 8,
        "hold": 8.0,
        "recovered": 2.0,
    },
    "spread": {"after": 0},
    "trend": {"share": 0.75, "consistency": 0.6},
}
SHARE = {"above": None, "below": None, "near": None, "above_median": None}
"""Of the detector of that name, which expressions have a function of."""


def test_a_rule_that_leaves_a_parameter_out_gets_the_default_that_it_always_got() -> None:
    stated = {name: {one.name: one.default for one in measures.parameters(name)} for name in measures.names()}
    assert {name: stated[name] for name in sorted(stated) if stated[name]} == DEFAULTS
    of_points = {one.name: one.default for one in measures.parameters("share", detector=True)}
    assert of_points == SHARE | {"tolerance": 0.005, "window": 20, "unit": 1.0}


@pytest.mark.parametrize(
    ("name", "refused", "least", "said"),
    [
        ("chance", {"classes": 1.99}, {"classes": 2.0}, "classes is at least 2"),
        ("clumps", {"window": 7}, {"window": 8}, "window is at least 8"),
        ("clumps", {"finest": 0.0}, {"finest": 1.0}, "finest lies between 0 and 1"),
        ("clumps", {"finest": 1.01}, {"finest": 0.001}, "finest lies between 0 and 1"),
        ("growth", {"window": 4}, {"window": 5}, "window is at least 5"),
        ("guessing", {"share": 0.0}, {"share": 1.0}, "share lies in"),
        ("guessing", {"share": 1.01}, {"share": 0.01}, "share lies in"),
        ("guessing", {"most": 1}, {"most": 2}, "most is at least 2"),
        ("initial", {"expected": 0.0}, {"expected": 1.0}, "expected is not 0"),
        ("initial", {"classes": 1.99}, {"classes": 2.0}, "classes is at least 2"),
        ("level", {"smooth": 0}, {"smooth": 1}, "smooth is at least 1"),
        ("level", {"unit": 0.0}, {"unit": 1.0}, "unit is not 0"),
        ("level_shift", {"window": 3}, {"window": 4}, "window is at least 4"),
        ("progress", {"classes": 1.99}, {"classes": 2.0}, "classes is at least 2"),
        ("ratio", {"smooth": 0}, {"smooth": 1}, "smooth is at least 1"),
        ("recent_ratio", {"recent": 0.0}, {"recent": 0.01}, "recent lies between 0 and 1"),
        ("recent_ratio", {"recent": 1.0}, {"recent": 0.99}, "recent lies between 0 and 1"),
        ("relapse", {"within": 0}, {"within": 1}, "within is at least 1"),
        ("relapse", {"least": 1}, {"least": 2}, "least at least 2"),
        ("relapse", {"hold": 0.0}, {"hold": 0.1}, "hold is positive"),
        ("rising", {"total": 0.0}, {"total": 0.5}, "total is positive"),
        ("schedule", {"peak": 0.0}, {"peak": 0.5}, "peak and total are positive"),
        ("schedule", {"total": 0.0}, {"total": 0.5}, "peak and total are positive"),
        ("share", {}, {"near": 0.0}, "one of above"),
        ("share", {"above": 1.0, "below": 2.0}, {"below": 2.0}, "one of above"),
        ("share", {"above": 1.0, "window": 0}, {"above": 1.0, "window": 1}, "window of at least 1"),
        ("share", {"above": 1.0, "unit": 0.0}, {"above": 1.0, "unit": 0.5}, "positive unit"),
        ("spike", {"window": 7}, {"window": 8}, "window is at least 8"),
        ("spike", {"least": 3}, {"least": 4}, "least at least 4"),
        ("spike", {"recovered": 8.0}, {"recovered": 7.9}, "recovered is below hold"),
        ("trend", {"share": 0.0}, {"share": 1.0}, "share lies between 0 and 1"),
        ("trend", {"share": 1.01}, {"share": 0.01}, "share lies between 0 and 1"),
    ],
)
def test_a_parameter_is_refused_beyond_its_bound_and_taken_at_it(
    name: str, refused: dict[str, Any], least: dict[str, Any], said: str
) -> None:
    with pytest.raises(RuleError, match=said):
        measures.make(name, refused)
    assert name == measures.make(name, least).NAME


ASKED: dict[str, tuple[str, int, int]] = {
    "answers_as_guessed": ("families", 0, 1),
    "above_whole": ("families", 0, 5),
    "began": ("symptom", 1, 1),
    "below_floor": ("families", 0, 3),
    "best_kept_elsewhere": ("run", 0, 1),
    "beyond_belief": ("families", 0, 2),
    "beyond_bounds": ("families", 0, 3),
    "both_won": ("families", 0, 20),
    "code_empty": ("families", 0, 12),
    "critic_sees_nothing": ("families", 0, 0),
    "discriminator_diverged": ("families", 0, 8),
    "discriminator_won": ("families", 0, 20),
    "errors_gained": ("values", 1, 18),
    "discriminator_undecided": ("families", 0, 20),
    "falls_beside": ("run", 1, 1),
    "folds_go_on": ("run", 1, 1),
    "gained_at_most": ("values", 1, 18),
    "generator_unopposed": ("families", 0, 20),
    "grows_throughout": ("values", 1, 10),
    "hits_below_chance": ("families", 0, 5),
    "knows_nothing": ("families", 0, 6),
    "knows_the_reverse": ("families", 0, 3),
    "never_found": ("families", 0, 5),
    "one_code_used": ("families", 0, 8),
    "order_reversed": ("families", 0, 3),
    "perfect_from_start": ("families", 0, 5),
    "hardly_succeeds": ("families", 0, 5),
    "nothing_moves": ("families", 0, 4),
    "nothing_right": ("families", 0, 2),
    "lost_share": ("curve", 1, 6),
    "rank_departed": ("standings", 1, 3),
    "rank_ratio": ("ranks", 1, 3),
    "rank_spread": ("ranks", 1, 2),
    "rank_unmoved": ("standings", 1, 2),
    "ranked_as_guessed": ("families", 0, 3),
    "rare_missed": ("families", 0, 1),
    "right_from_start": ("families", 0, 5),
    "risen": ("values", 1, 6),
    "same_as": ("curve", 2, 5),
    "score_lost": ("families", 0, 10),
    "policy_loss_reversed": ("families", 0, 10),
    "probe_gains_nothing": ("families", 0, 8),
    "rated_by_games": ("run", 0, 1),
    "reward_apart": ("run", 0, 1),
    "reward_fell": ("families", 0, 16),
    "reward_of_chosen_gone": ("run", 0, 1),
    "rewarded_elsewhere": ("run", 0, 1),
    "samples_gain_nothing": ("families", 0, 5),
    "scores_nothing": ("families", 0, 6),
    "solution_wrong": ("families", 0, 1),
    "scores_gain_nothing": ("families", 0, 4),
    "shares_beside": ("run", 0, 1),
    "scores_sink": ("families", 0, 4),
    "spread": ("values", 1, 3),
    "still_falling": ("values", 1, 9),
    "term_dwarfed": ("run", 0, 1),
    "test_loss_apart": ("run", 0, 1),
    "term_starved": ("run", 0, 1),
    "term_exploded": ("families", 0, 4),
    "term_left_out": ("run", 0, 1),
    "term_stands": ("run", 0, 1),
    "tested_far_below": ("families", 0, 1),
    "values_against_returns": ("families", 0, 10),
}
"""What it is asked of, how many roles it takes, and how many points it waits for."""


def test_functions_are_asked_of_as_many_points_as_they_need() -> None:
    functions = measures.all_functions()
    found = {name: (functions[name].subject, functions[name].roles, functions[name].points) for name in ASKED}
    assert found == ASKED
    curves = {name: one.points for name, one in functions.items() if one.subject in ("values", "curve")}
    waiting = (
        "anew",
        "back_after",
        "jitter",
        "leap",
        "leap_alone",
        "leap_kept",
        "minus_probability",
        "same_as",
    )
    assert {name for name, points in curves.items() if points == 5} == set(waiting)
    assert {name for name, points in curves.items() if points == 6} == {
        "kept",
        "risen",
        "lost_share",
        "since_best",
        "squandered",
    }
    assert curves["classes_if_twice"] == 8


def test_functions_say_what_they_lack_and_what_they_answer_where_nothing_is_logged() -> None:
    functions = measures.all_functions()
    assert {name for name, one in functions.items() if one.absent == 0} == {"count", "finite", "timed"}
    lacking = {name: one.lacks for name, one in functions.items() if one.lacks != "more points"}
    assert lacking == {
        "first_step": "steps",
        "jitter": "more digits",
        "per_epoch": "points of whole epochs",
        "seconds_above": "times",
        "seconds_below": "times",
        "seconds_until": "time",
    }


def test_functions_are_given_the_families_that_they_speak_of() -> None:
    functions = measures.all_functions()
    families = {name: set(one.families) for name, one in functions.items() if one.families}
    nets = {"both_won", "discriminator_diverged", "discriminator_undecided", "discriminator_won"}
    nets |= {"generator_unopposed"}
    assert {name for name, of in families.items() if of == {"loss", "error", ""}} == {*nets, "solution_wrong"}
    gauged = {"beyond_bounds", "knows_nothing", "knows_the_reverse", "order_reversed", "perfect_from_start"}
    gauged.add("beyond_belief")
    all_but_rewards = {"score", "error", "loss", "divergence", ""}
    assert {name for name, of in families.items() if of == all_but_rewards} == {*gauged, "one_code_used"}
    assert families["below_floor"] == {"loss", "error"}
    assert families["term_exploded"] == {"loss", "divergence"}
