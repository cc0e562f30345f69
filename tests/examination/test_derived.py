"""What a resume did to learning rate and loss, told from the points on both sides of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.examination.cases.notation import series_from
from hrmdoc.examination.derived import derived
from hrmdoc.record.records import Event, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import Rulebook


def resumed(at: int, steps: list[int] | None = None, **series: str) -> dict[str, Any]:
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    for role, notation in series.items():
        values = series_from(notation, seed=role)
        where = np.array(steps if steps is not None else range(len(values)), np.int64)
        run.add(
            Points(
                role.replace("_", "."), where, values, np.full(len(values), np.nan), "case.log", precision=3
            )
        )
    run.add(Event("resume", "case.log", step=at, detail=""))
    return derived(run, {}, Rulebook())


def test_a_rate_that_goes_on_has_a_ratio_near_one() -> None:
    assert resumed(29, lr="0.01x60")["run.resume_lr_ratio"] == 1.0


def test_a_rate_that_starts_anew_is_told_by_its_ratio() -> None:
    assert resumed(29, lr="0.001x30 0.01x30")["run.resume_lr_ratio"] == pytest.approx(10.0)


def test_where_steps_fall_back_the_seam_is_there_and_not_at_the_same_step_before() -> None:
    steps = [*range(40), *range(30, 60)]
    assert resumed(30, steps, lr="0.001x40 0.01x30")["run.resume_lr_ratio"] == pytest.approx(10.0)


def test_noise_alone_gives_a_rise_of_a_few_units_at_most() -> None:
    assert abs(resumed(29, train_loss="2~0.1x60")["run.resume_loss_rise"]) < 4


def test_a_step_up_is_many_times_the_scatter() -> None:
    assert resumed(29, train_loss="2~0.05x30 2.6~0.05x30")["run.resume_loss_rise"] > 6


def test_too_few_points_on_either_side_tell_nothing() -> None:
    assert "run.resume_loss_rise" not in resumed(5, train_loss="2x8")
    assert "run.resume_loss_rise" not in resumed(29, train_loss="2x31")


def test_a_loss_that_was_not_finite_before_is_no_level() -> None:
    assert "run.resume_loss_rise" not in resumed(29, train_loss="2x20 nanx10 2x30")


def planned(facts: dict[str, Any], *, axis: str = "step", points: int = 30) -> object:
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    steps = np.arange(points, dtype=np.int64)
    run.add(
        Points(
            "train.loss", steps, np.ones(points), np.full(points, np.nan), "case.log", precision=3, axis=axis
        )
    )
    return derived(run, facts, Rulebook()).get("run.planned_length")


def test_a_log_of_one_point_an_epoch_ends_with_the_last_epoch_not_with_the_last_step() -> None:
    assert planned({"run.total_steps": 1200, "run.epochs": 30}, axis="epoch") == 30


def test_a_log_by_steps_ends_with_the_last_step() -> None:
    assert planned({"run.total_steps": 1200, "run.epochs": 30}) == 1200


def test_epochs_that_were_outlived_are_no_length() -> None:
    assert planned({"run.epochs": 3}) is None


def loss_unit(kind: str, notation: str) -> object:
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    values = series_from(notation, seed=notation)
    run.add(
        Points(
            "train.loss",
            np.arange(len(values)),
            values,
            np.full(len(values), np.nan),
            "case.log",
            precision=3,
        )
    )
    return derived(run, {"run.kind": kind}, rulebook.load()).get("run.loss_unit")


def test_a_loss_of_usual_size_has_no_unit_of_its_own() -> None:
    assert loss_unit("unknown", "900 6~1x50") is None


def test_a_cross_entropy_has_no_unit_of_its_own() -> None:
    assert loss_unit("classification", "118~5x50") is None


def test_a_sum_over_pixels_is_so_many_times_larger_than_a_mean() -> None:
    assert loss_unit("unknown", "100~2x50") == 8.0


def observed(facts: dict[str, Any], grads: str = "", **series: str) -> dict[str, Any]:
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    for role, notation in {**series, **({"grad_norm": grads} if grads else {})}.items():
        values = series_from(notation, seed=role)
        times, steps = np.full(len(values), np.nan), np.arange(len(values))
        name = role if role == "grad_norm" else role.replace("_", ".")
        run.add(Points(name, steps, values, times, "case.log", precision=3))
    return derived(run, {"run.kind": "sft", **facts}, rulebook.load())


@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        ({"run.total_steps": 1000}, "early"),
        ({"run.total_steps": 200}, "middle"),
        ({"run.total_steps": 101}, "end"),
        ({"run.total_steps": 101, "schedule.warmup_steps": 99}, "warmup"),
        ({"run.total_steps": "auto"}, None),
        ({}, None),
    ],
)
def test_a_phase_is_told_by_steps_and_plan(facts: dict[str, Any], phase: str | None) -> None:
    assert observed(facts, train_loss="2x100").get("run.phase") == phase


@pytest.mark.parametrize(
    ("grads", "where"),
    [
        ("1x50", "forward"),
        ("1x49 30x1", "backward"),
        ("1x49 nanx1", "backward"),
        ("0x50", "forward"),
        ("1x3", None),
    ],
)
def test_the_pass_that_broke_is_told_by_the_gradient_before(grads: str, where: str | None) -> None:
    assert observed({}, grads, train_loss="2x50 nanx5").get("run.nonfinite_from") == where


def test_growth_of_gradients_is_that_of_the_points_before_the_break() -> None:
    found = observed({}, "1x6 4x2 6x3 nanx2", train_loss="2x11 nanx2")
    assert found["run.gradient_growth"] == 6.0
    assert "run.gradient_growth" not in observed({}, "1x9", train_loss="2x9 nanx5")


def test_between_two_points_gradients_may_explode_unseen() -> None:
    assert "run.nonfinite_from" not in observed({}, "1x40", train_loss="2x50 nanx5")


def test_what_is_only_observed_is_no_fact() -> None:
    assert not [name for name in observed({}, train_loss="2x100") if name.startswith("observed.")]


def test_never_resumed_is_told_of_a_log_from_the_beginning_alone() -> None:
    assert observed({}, train_loss="2x100")["run.resumes"] == 0
    run = Run("case", role_of=lambda metric: RoleGuess(metric))
    run.add(Points("train.loss", np.arange(500, 600), np.ones(100), np.full(100, np.nan), "x", precision=3))
    assert "run.resumes" not in derived(run, {"run.kind": "sft"}, rulebook.load())


def begun(*events: Event, times: tuple[float, ...] = (100.0, 110.0)) -> dict[str, Any]:
    run = Run("log", role_of=RoleGuess)
    steps = np.arange(len(times)) * 50
    run.add(Points("train.loss", steps, np.ones(len(times)), np.array(times), "log"))
    run.extend(events)
    return derived(run, {}, Rulebook())


def test_the_time_to_the_first_step_is_from_the_newest_start_before_it() -> None:
    starts = [Event("start", "log", time=time) for time in (20.0, 70.0, 105.0)]
    assert begun(*starts)["run.seconds_to_first_step"] == 30.0
    assert begun(Event("start", "log", time=100.0))["run.seconds_to_first_step"] == 0.0
    assert "run.seconds_to_first_step" not in begun(Event("start", "log", time=100.5))
    assert "run.seconds_to_first_step" not in begun(Event("start", "log"))


def test_a_start_of_an_earlier_launch_in_the_same_file_is_no_start_of_the_last_one() -> None:
    run = Run("log", role_of=RoleGuess)
    run.add(Points("train.loss", np.array([1]), np.ones(1), np.array([9000.0]), "log", lines=np.array([50])))
    run.extend([Event("start", "log", line=3, time=10.0)])
    assert derived(run, {}, Rulebook())["run.seconds_to_first_step"] == 8990.0
    run.extend([Event("launch", "log", line=40)])
    assert "run.seconds_to_first_step" not in derived(run, {}, Rulebook())
    run.extend([Event("start", "log", line=45, time=8999.0)])
    assert derived(run, {}, Rulebook())["run.seconds_to_first_step"] == 1.0


def saved(step: int | None, time: float = np.nan) -> Event:
    return Event("checkpoint", "log", step=step, time=time)


def test_what_a_failure_would_cost_is_told_by_the_last_checkpoint() -> None:
    found = begun(saved(10, 40.0), saved(20, 50.0), saved(30, 80.0), times=(1.0, 2.0, 3.0))
    assert found["run.steps_since_checkpoint"] == 70
    assert found["run.checkpoint_seconds"] == 20.0
    ahead = begun(saved(90), times=(1.0, 2.0))
    assert ahead["run.steps_since_checkpoint"] == 0
    assert "run.checkpoint_seconds" not in ahead
    assert "run.steps_since_checkpoint" not in begun(saved(None))
    assert "run.checkpoint_seconds" not in begun(saved(1, 40.0), saved(2, 40.0))


def peak(*rates: float, guessed: bool = False) -> object:
    run = Run("log", role_of=lambda name: RoleGuess(name, guessed))
    steps = np.arange(len(rates))
    run.add(Points("lr", steps, np.array(rates), np.full(len(rates), np.nan), "log"))
    return derived(run, {}, Rulebook()).get("optimizer.lr")


def test_the_highest_logged_rate_stands_for_a_configured_one_unless_its_role_is_a_guess() -> None:
    assert peak(1e-5, 3e-4, np.nan, 1e-4) == 3e-4
    assert peak(0.0, 0.0) is None
    assert peak(1e-5, guessed=True) is None


@pytest.mark.parametrize(
    ("first", "even"),
    [
        (2.302585, True),
        (1.386294, True),
        (2.3026, False),
        (2.31, False),
        (0.0, None),
        (np.nan, None),
        (9.0, None),
    ],
)
def test_a_first_loss_that_is_the_logarithm_of_a_whole_number_to_all_digits_is_known(
    first: float, even: bool | None
) -> None:
    run = Run("log", role_of=lambda _: RoleGuess("train.loss"))
    run.add(Points("loss", np.arange(3), np.array([first, 1.0, 0.9]), np.full(3, np.nan), "log"))
    assert derived(run, {}, Rulebook()).get("run.begins_even") is even
