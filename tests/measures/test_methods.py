"""What each detector sees, in the words of its docstring: near misses first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hrmdoc import measures
from hrmdoc.examination.cases.notation import series_from


def scores(detector: str, /, *notations: str, spacing: int = 1, **params: Any) -> np.ndarray:
    columns = [series_from(notation, seed=notation) for notation in notations]
    values = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    return measures.make(detector, params).update(np.arange(len(values)) * spacing, values)


def last(detector: str, /, *notations: str, **params: Any) -> float:
    return float(scores(detector, *notations, **params)[-1])


class TestNonFinite:
    def test_only_nan_and_infinities_score(self) -> None:
        np.testing.assert_array_equal(scores("nonfinite", "1 nan inf -inf 1e308"), [0, 1, 1, 1, 0])


class TestLevel:
    def test_a_median_needs_its_points(self) -> None:
        np.testing.assert_array_equal(scores("level", "1 9 2 3", smooth=3), [np.nan, np.nan, 2, 3])

    def test_magnitude_and_unit(self) -> None:
        np.testing.assert_array_equal(scores("level", "-4 2", absolute=True, unit=2), [2, 1])

    def test_the_first_steps_are_not_judged(self) -> None:
        np.testing.assert_array_equal(
            scores("level", "1 1 1", after_steps=20, spacing=10), [np.nan, np.nan, 1]
        )

    def test_values_on_another_scale_are_not_judged(self) -> None:
        np.testing.assert_array_equal(scores("level", "0.99 99", ceiling=1.0), [0.99, np.nan])

    def test_a_unit_of_zero_is_refused(self) -> None:
        with pytest.raises(measures.RuleError, match="unit is not 0"):
            measures.make("level", {"unit": 0.0})


class TestSpike:
    def test_usual_scatter_stays_low(self) -> None:
        assert np.nanmax(scores("spike", "2~0.1x2000")) < 6

    def test_a_heavy_upper_tail_is_usual_scatter(self) -> None:
        values = np.random.default_rng(0).exponential(1.0, 20_000) + 0.1
        assert (measures.make("spike").update(np.arange(20_000), values) >= 8).mean() < 2e-4

    def test_a_rise_of_a_loss_near_zero_is_small_beside_the_progress(self) -> None:
        assert np.nanmax(scores("spike", "10-0.1x100 0.001x50 0.05 0.001x20")[150:]) < 8

    def test_the_baseline_stays_as_it_was_until_the_series_is_back(self) -> None:
        found = scores("spike", "2~0.02x100 9x500 2x10")
        assert (found[100:600] > 8).all()
        assert found[600] < 2

    def test_the_points_of_a_spike_are_left_out_of_the_baseline(self) -> None:
        found = scores("spike", "2~0.02x100 9x200 2~0.02x20 9 2x5")
        assert found[320] > 8


class TestRelapse:
    def test_rises_as_large_as_those_before_are_none(self) -> None:
        assert last("relapse", "3 2.5 2.8 2.2 2.6") == 0

    def test_without_a_gain_there_is_nothing_to_lose(self) -> None:
        assert last("relapse", "3x10 4") == 0

    def test_what_starts_near_zero_has_little_to_lose(self) -> None:
        assert last("relapse", "0.09 0.03 0.02 0.01 0.01 0.05") < 0.2

    def test_the_share_of_the_gain_that_is_lost_at_once(self) -> None:
        assert last("relapse", "3 2.5 2 1.5 1 2") == pytest.approx(0.5)

    def test_a_rise_within_two_points_counts_as_one(self) -> None:
        assert last("relapse", "3 2.5 2 1.5 1 1.6 2.2") == pytest.approx(0.6)

    def test_a_reward_is_lost_by_a_fall_wherever_zero_lies(self) -> None:
        assert last("relapse", "-3 -2.5 -2 -1.5 -1 -2", goal="max") == pytest.approx(0.5)
        assert last("relapse", "7 7.5 8 8.5 9 8", goal="max") == pytest.approx(0.5)
        assert last("relapse", "1 1.5 2 2.5 3 3.5", goal="max") == 0


class TestPlateau:
    def test_a_long_plateau_ends_when_the_loss_falls(self) -> None:
        found = scores("plateau", "2.3~0.005x100 2.3-0.02~0.005x60")
        assert found[99] >= 0.6
        assert found[-1] == 0

    def test_a_converged_run_is_no_plateau(self) -> None:
        assert last("plateau", "5-0.2x20 1~0.02x400") == 0

    def test_a_rise_is_no_plateau(self) -> None:
        assert last("plateau", "1+0.01x100") == 0

    def test_noise_that_hides_an_improvement_gives_no_verdict(self) -> None:
        assert last("plateau", "1~0.4x60") == 0

    def test_noise_may_hide_as_much_as_doubt_allows(self) -> None:
        assert last("plateau", "1~0.05x60") == 0
        assert last("plateau", "1~0.05x60", doubt=0.05) == 1.0
        assert last("plateau", "1-0.004~0.05x60", doubt=0.05) == 0
        assert last("plateau", "1~0.4x60", doubt=0.05) == 0

    def test_a_constant_series_is_one(self) -> None:
        assert last("plateau", "2x100") == 1.0

    def test_for_accuracy_higher_is_better(self) -> None:
        assert last("plateau", "0.1+0.01x60", goal="max") == 0
        assert last("plateau", "0.1x60", goal="max") == 1.0


class TestClumps:
    def test_samples_drawn_at_random_are_none(self) -> None:
        drawn = np.random.default_rng(0).binomial(32, 0.5, 200) / 32
        assert np.nanmax(measures.make("clumps", {}).update(np.arange(200), drawn)) == 0

    def test_batches_of_one_class_score_near_one(self) -> None:
        batches = np.random.default_rng(0).choice([0.0, 1 / 32, 31 / 32, 1.0], 200)
        assert measures.make("clumps", {}).update(np.arange(200), batches)[-1] > 0.5

    def test_percents_are_the_same_as_shares(self) -> None:
        batches = np.random.default_rng(0).choice([0.125, 0.25, 0.75, 1.0], 40)
        shares, percents = (
            measures.make("clumps", {}).update(np.arange(40), whole * batches) for whole in (1, 100)
        )
        np.testing.assert_allclose(shares[20:], percents[20:])

    def test_one_bad_batch_is_left_out(self) -> None:
        drawn = np.random.default_rng(0).binomial(32, 0.8, 60) / 32
        drawn[30] = 0.0
        assert np.nanmax(measures.make("clumps", {}).update(np.arange(60), drawn)) == 0

    def test_few_samples_a_point_scatter_by_themselves(self) -> None:
        drawn = np.random.default_rng(0).binomial(4, 0.5, 60) / 4
        assert np.nanmax(measures.make("clumps", {}).update(np.arange(60), drawn)) == 0

    def test_eight_points_are_needed(self) -> None:
        assert np.isnan(scores("clumps", "0 1 0 1 0 1 0")).all()


class TestDivergence:
    @pytest.mark.parametrize(
        ("notation", "goal", "began"),
        [
            ("8-0.05~0.02x100 7.4~0.05x20", "min", 100),
            ("0.1+0.01~0.02x50 0.1~0.02x10", "max", 50),
            ("3x40 5 3x20 4x10", "min", 61),
            ("3x4", "min", 3),
        ],
    )
    def test_what_has_risen_began_to_where_it_left_its_best(
        self, notation: str, goal: str, began: int
    ) -> None:
        detector = measures.make("divergence", {"goal": goal})
        assert detector.began(series_from(notation, seed=notation)) == began

    def test_a_passing_spike_is_none(self) -> None:
        assert last("divergence", "2-0.01x100 9x2 1x30") == 0

    def test_a_rise_that_shrinks_is_recovering(self) -> None:
        assert last("divergence", "12 12 43 40 34 28 22 18 15 13.5") == 0

    def test_a_sustained_rise_scores_by_its_share_of_the_level(self) -> None:
        assert last("divergence", "2x50 4x50") == pytest.approx(1.0)

    def test_for_accuracy_a_fall_is_one(self) -> None:
        assert last("divergence", "0.1+0.02x40 0.9x20 0.4x30", goal="max") > 0.3


class TestRun:
    def test_a_break_starts_the_count_anew(self) -> None:
        np.testing.assert_array_equal(scores("run", "0 0 1 0 0 0", at_most=0.5), [1, 2, 0, 1, 2, 3])

    def test_repetitions_count_the_first_value(self) -> None:
        np.testing.assert_array_equal(scores("run", "5 5 5 6 6 7"), [1, 2, 3, 1, 2, 1])

    def test_steps_count_from_the_first_point_of_the_run(self) -> None:
        np.testing.assert_array_equal(
            scores("run", "1 0 0 0", at_most=0, unit="steps", spacing=10), [0, 0, 10, 20]
        )

    def test_a_share_is_taken_of_all_points_so_far(self) -> None:
        np.testing.assert_allclose(scores("run", "1 1 0 0", at_most=0, unit="share"), [0, 0, 1 / 3, 0.5])


class TestShare:
    def test_it_waits_for_a_whole_window(self) -> None:
        np.testing.assert_allclose(scores("share", "1 3 3 1", above=2, window=2), [np.nan, 0.5, 1, 0.5])

    def test_values_near_a_cap(self) -> None:
        assert last("share", "1.001x10 0.9x10", near=1.0, window=20) == 0.5

    def test_outliers_against_the_median_before(self) -> None:
        assert last("share", "1x30 5 1 5 1 5 1 5 1 5 1", above_median=3, window=10) == 0.5

    def test_two_conditions_at_once_are_refused(self) -> None:
        with pytest.raises(measures.RuleError, match="one of above"):
            measures.make("share", {"above": 1, "below": 2})


class TestGrowth:
    def test_noise_does_not_grow(self) -> None:
        assert np.nanmax(np.abs(scores("growth", "5~1x300"))) < 0.3

    def test_powers_of_ten_over_the_window(self) -> None:
        assert last("growth", "1*10x24", window=24) == pytest.approx(23)
        assert last("growth", "1*0.1x24", window=24) == pytest.approx(-23)

    def test_one_outlier_is_no_growth(self) -> None:
        assert last("growth", "1x23 1e6", window=24) < 1


class TestJump:
    def test_a_rise_that_goes_on_is_none(self) -> None:
        np.testing.assert_array_equal(scores("jump", "1 2 4 8")[3:], [1])

    def test_out_of_a_fall(self) -> None:
        assert last("jump", "5 4 2 10") == 5

    def test_nothing_is_judged_before_three_points_are_known(self) -> None:
        assert np.isnan(scores("jump", "1 1 9")).all()


class TestInitial:
    def test_a_resumed_run_is_not_judged(self) -> None:
        values = np.full(5, 9.0)
        assert np.isnan(measures.make("initial", {"classes": 10}).update(np.arange(500, 505), values)).all()

    def test_the_start_over_the_logarithm_of_the_classes(self) -> None:
        assert last("initial", "2.302585x5", classes=10) == pytest.approx(1)

    def test_without_an_expectation_nothing_is_judged(self) -> None:
        assert np.isnan(last("initial", "1x9"))


class TestLevelShift:
    def test_a_short_spike_is_none(self) -> None:
        assert np.nanmax(scores("level_shift", "2~0.05x60 9x3 2~0.05x60")) < 5

    def test_a_step_up_scores_once_and_then_fades(self) -> None:
        found = scores("level_shift", "2~0.05x60 3~0.05x60")
        assert np.nanmax(found) > 5
        assert found[-1] < 2


class TestRatio:
    def test_a_denominator_of_zero_is_not_judged(self) -> None:
        assert np.isnan(scores("ratio", "1x5", "0x5", smooth=1)).all()

    def test_the_median_of_the_ratio(self) -> None:
        assert last("ratio", "1 1 1 9 1", "2x5", smooth=5) == 0.5


class TestOverfit:
    def test_a_rise_of_both_is_none(self) -> None:
        assert last("overfit", "1x5 1+0.1x20", "1x5 1+0.1x20") == 0

    def test_a_rise_against_a_fall_scores_by_its_share_of_the_best(self) -> None:
        assert last("overfit", "1x5 0.5x5 1x10", "1-0.04x20") == pytest.approx(1.0, rel=0.1)

    def test_of_a_score_a_fall_counts_as_a_share_of_the_best(self) -> None:
        assert last("overfit", "0.2x5 0.8x5 0.4x10", "3-0.1x20", goal="max") == pytest.approx(0.48, rel=0.05)
        assert last("overfit", "0.2x5 0.8x15", "3-0.1x20", goal="max") == 0


class TestGap:
    def test_the_larger_one_is_the_yardstick(self) -> None:
        assert last("gap", "1x20", "0.25x20") == 0.75
        assert last("gap", "0.25x20", "1x20") == -0.75

    def test_a_role_that_still_improves_has_not_stalled(self) -> None:
        assert last("gap", "1-0.02x20", "1*0.8x20", stalled=True) == 0


class TestErratic:
    def test_one_outlier_is_not_erratic(self) -> None:
        assert last("erratic", "1x20 9 1x20", "1x41") == 0

    def test_jumps_that_the_other_role_shares_are_not(self) -> None:
        assert last("erratic", "1 3 1 3 1 3 1 3 1 3 1 3 1 3", "1 3 1 3 1 3 1 3 1 3 1 3 1 3") == 0

    def test_jumps_of_one_role_alone_are(self) -> None:
        assert last("erratic", "1 3 1 3 1 3 1 3 1 3 1 3 1 3", "1x14") > 0.5


class TestTrend:
    def test_a_step_back_and_forth_is_no_trend(self) -> None:
        assert last("trend", "1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2") == 0

    def test_a_constant_is_no_trend(self) -> None:
        assert last("trend", "1x50") == 0

    def test_a_steady_fall_is_negative(self) -> None:
        assert last("trend", "10-0.1x60") < -0.2


class TestAccuracyFloor:
    def test_accuracy_and_loss_of_the_same_predictions_agree(self) -> None:
        assert last("accuracy_floor", "0.4x20", "0.85x20") == 0.0

    def test_a_loss_beyond_ln_2_allows_any_accuracy(self) -> None:
        assert last("accuracy_floor", "2.0x20", "0.01x20") == 0.0

    def test_at_most_loss_over_ln_2_of_the_answers_are_wrong(self) -> None:
        assert last("accuracy_floor", f"{np.log(2) / 2}x20", "0.1x20") == pytest.approx(0.4)

    def test_values_above_one_are_percent(self) -> None:
        assert last("accuracy_floor", f"{np.log(2) / 2}x20", "40x20") == pytest.approx(0.1)
        assert last("accuracy_floor", f"{np.log(2) / 2}x20", "2x20") == pytest.approx(0.48)


class TestRecentRatio:
    def test_as_usual(self) -> None:
        assert last("recent_ratio", "3x50") == 1

    def test_half_of_the_past(self) -> None:
        assert last("recent_ratio", "4x50 2x20") == 0.5


class TestCorrelation:
    def test_a_role_that_does_not_move_has_none(self) -> None:
        assert last("correlation", "1x40", "2-0.02x40") == 0

    def test_opposite_moves_are_negative(self) -> None:
        assert last("correlation", "1+0.1x40", "9-0.1x40") == -1


class TestProgress:
    def test_what_drowns_in_noise_is_none(self) -> None:
        assert abs(last("progress", "1~0.3x60")) < 0.2

    def test_what_was_lost_again_is_none(self) -> None:
        assert last("progress", "2-0.1x15 0.6+0.1x20") <= 0

    def test_the_share_of_the_start(self) -> None:
        assert last("progress", "4x10 1x90") == 0.75


class TestChance:
    def test_without_candidates_nothing_is_judged(self) -> None:
        assert np.isnan(last("chance", "2.3x50"))

    def test_wide_scatter_about_the_value_is_no_guessing(self) -> None:
        assert last("chance", "0.693~0.3x640", classes=2) > 0.05

    def test_the_nearest_candidate_counts(self) -> None:
        assert last("chance", "2.1972x50", classes=[9, 10, 11]) < 0.001

    def test_accuracy(self) -> None:
        assert last("chance", "0.1111x50", classes=9, of="accuracy") < 0.001


class TestOscillation:
    def test_an_improving_trend_excuses_swings(self) -> None:
        assert last("oscillation", "3-0.02~0.3x100") == 0

    def test_the_robust_size_of_the_swings(self) -> None:
        assert last("oscillation", "1~0.3x1000") == pytest.approx(0.3, rel=0.2)

    def test_swings_against_those_of_the_past(self) -> None:
        assert last("oscillation", "1~0.05x400 1~0.2x300", against="past") > 2


class TestRising:
    def test_a_fall_ends_it(self) -> None:
        assert last("rising", "1+1x50 49", total=60) == 0

    def test_the_share_of_the_steps_that_have_passed(self) -> None:
        assert last("rising", "1+1x51", total=100) == 0.5


class TestSchedule:
    def test_an_unknown_schedule_is_not_judged(self) -> None:
        assert np.isnan(scores("schedule", "1x50", name="wsd", total=50)).all()

    def test_cosine_as_planned(self) -> None:
        steps = np.arange(100)
        values = 0.5 * (1 + np.cos(np.pi * steps / 100)) * 1e-4
        found = measures.make("schedule", {"name": "cosine", "peak": 1e-4, "total": 100}).update(
            steps, values
        )
        assert np.nanmax(found) < 1e-9

    def test_a_constant_in_place_of_a_line(self) -> None:
        assert last("schedule", "1x90", name="linear", peak=1, total=100) > 0.8


def test_a_million_points_keep_the_state_small() -> None:
    values = 1 + np.random.default_rng(0).random(300_000)
    for name in ("plateau", "spike", "level_shift", "growth"):
        detector = measures.make(name)
        assert detector.update(np.arange(len(values)), values).shape == values.shape
        kept = [item for item in vars(detector).values() if isinstance(item, np.ndarray)]
        assert sum(item.size for item in kept) < 10_000
