"""What became of a series as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.examination.cases.notation import series_from
from hrmdoc.examination.outcome import says
from hrmdoc.examination.scene import Scene
from hrmdoc.measures.outcome import Goal, Outcome, outcome
from hrmdoc.record.run import Run


def well(judged: Outcome) -> bool:
    """By the tables that hrmdoc ships."""
    return says(Scene(Run("case"), usual=[rulebook.load().typical["outcome"]]), judged, "well")


def _noisy(levels: np.ndarray, scatter: float = 0.02) -> np.ndarray:
    return levels + np.random.default_rng(7).normal(0.0, scatter, len(levels))


def _falling(points: int) -> np.ndarray:
    return 0.3 + 2.0 * np.exp(-np.arange(points) / (points / 5))


def test_a_loss_that_falls_to_its_best_ends_well() -> None:
    judged = outcome(_noisy(_falling(300)))
    assert judged is not None
    assert well(judged)


def test_a_spike_that_is_made_good_leaves_the_outcome_as_it_is() -> None:
    values = _noisy(_falling(300))
    values[150:156] = 9.0
    judged = outcome(values)
    assert judged is not None
    assert well(judged)


def test_a_loss_that_goes_up_in_its_last_points_does_not_end_well() -> None:
    values = _noisy(_falling(600))
    values[-10:] = 4.0
    judged = outcome(values)
    assert judged is not None
    assert not well(judged)


def test_a_run_that_spends_half_its_length_on_regaining_does_not_end_well() -> None:
    levels = np.concatenate([np.linspace(2.3, 0.5, 60), np.linspace(2.3, 0.45, 180)])
    judged = outcome(_noisy(levels))
    assert judged is not None
    assert not well(judged)


def test_a_loss_that_is_thrown_far_above_its_start_again_and_again_is_lost() -> None:
    values = _noisy(_falling(400))
    values[200::6] = 12.0
    judged = outcome(values)
    assert judged is not None
    assert not well(judged)


def test_a_series_that_ends_behind_its_opening_is_worse() -> None:
    judged = outcome(_noisy(np.concatenate([np.linspace(1.0, 0.7, 10), np.linspace(0.7, 1.6, 30)]), 0.01))
    assert judged is not None
    assert judged.kept < 0
    assert judged.rise == pytest.approx(1.2, abs=0.3)


def test_noise_about_one_level_is_no_gain() -> None:
    judged = outcome(_noisy(np.full(400, 2.0), 0.3))
    assert judged is not None
    assert not well(judged)


def test_a_score_is_judged_the_other_way_round() -> None:
    rising = np.linspace(0.1, 0.9, 40)
    up, down = outcome(rising, "max"), outcome(rising[::-1].copy(), "max")
    assert up is not None
    assert down is not None
    assert well(up)
    assert not well(down)


def test_five_points_are_not_judged() -> None:
    assert outcome(np.array([5.0, 4.0, 3.0, np.nan, 2.0, 1.0])) is None


def test_an_outcome_states_its_gain_what_is_kept_of_it_and_how_far_it_ends_from_its_best() -> None:
    judged = outcome(np.array([8.0, 6.0, 4.0, 2.0, 2.0, 4.0]))
    assert judged is not None
    assert (judged.opening, judged.best, judged.end, judged.gain) == (8.0, 2.0, 4.0, 6.0)
    assert judged.kept == pytest.approx(4 / 6)
    assert judged.rise == pytest.approx(1.0)
    assert judged.since == pytest.approx(2 / 5)
    assert judged.distance == pytest.approx(2.0 / judged.noise)


def test_without_a_gain_or_a_level_the_shares_are_all_or_nothing() -> None:
    def stated(opening: float, best: float, end: float, noise: float = 0.0) -> Outcome:
        return Outcome(opening, best, end, noise, 0.0, 0.0, 0.0)

    assert (stated(3, 3, 3).kept, stated(3, 3, 4).kept) == (1.0, 0.0)
    assert (stated(3, 0, 0).rise, stated(3, 0, 1).rise) == (0.0, np.inf)
    assert (stated(3, 1, 1).distance, stated(3, 1, 2).distance) == (0.0, np.inf)


def test_levels_thrown_above_the_start_and_levels_wasted_are_shares_of_the_run() -> None:
    thrown = outcome(np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 60.0, 1.0, 1.0]))
    assert thrown is not None
    assert thrown.thrown == pytest.approx(1 / 3)
    values = 10.0 - 0.5 * np.arange(18)
    values[15:17] = 8.0
    wasted = outcome(values)
    assert wasted is not None
    assert wasted.wasted == pytest.approx(2 / 18)


@pytest.mark.parametrize(
    ("notation", "goal", "levels", "shares"),
    [  # opening, best, end, noise; since, thrown, wasted
        ("60-1x30 31+1x30", "max", (-56.5, -59.5, -57.5, 0.0), (0.0, 0.65, 0.9167)),
        ("3 2 1 0 0 0", "min", (3.0, 0.0, 0.0, 0.0), (0.4, 0.0, 0.0)),
        ("0 2 2 2 3 2 1", "min", (0.0, 0.0, 1.0, 0.6053), (1.0, 1.0, 0.7143)),
        ("100-2x48", "min", (99.0, 7.0, 11.0, 0.0), (0.0, 0.0, 0.0)),
        ("99-2x47", "min", (99.0, 7.0, 11.0, 0.0), (0.0, 0.0, 0.0)),
        ("0+1x24", "max", (0.0, -23.0, -22.0, 0.0), (0.0, 0.0, 0.0)),
        ("9x4 60-1x56", "min", (33.0, 5.5, 7.5, 0.0), (0.0, 0.0, 0.625)),
        ("60-1~0.3x56 99x5", "min", (58.66, 6.279, 99.0, 0.3182), (0.1304, 0.0, 0.125)),
        ("9 5 1 9 17 18 17 1 1", "min", (9.0, 1.0, 1.0, 4.237), (0.75, 0.0, 0.3333)),
        ("9 5 1 9 9 9 18 17 17", "min", (9.0, 1.0, 17.0, 4.842), (0.75, 0.3333, 0.3333)),
        ("60-1~2x60 30x4", "min", (58.64, -0.2177, 30.0, 1.833), (0.08696, 0.0, 0.08333)),
        ("5x40 1~0.1x40 1x60 9x8", "min", (5.0, 0.9338, 9.0, 0.0), (0.6522, 0.0, 0.04167)),
    ],
)
def test_levels_and_shares_of_a_course_are_those_of_its_stretches(
    notation: str, goal: Goal, levels: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    judged = outcome(series_from(notation, seed=notation), goal)
    assert judged is not None
    found = (judged.opening, judged.best, judged.end, judged.noise)
    assert found == pytest.approx(levels, rel=1e-3, abs=1e-9)
    assert (judged.since, judged.thrown, judged.wasted) == pytest.approx(shares, rel=1e-3)
