"""What is only observed of a run, by the tables that ask for it: numbers at the bounds from which they
count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc.examination.cases.notation import series_from
from hrmdoc.examination.derived import LINES
from hrmdoc.record.records import Fact, Line, Points, Tick
from hrmdoc.record.run import Run, Sighting
from hrmdoc.record.series import Nature, RoleGuess
from tests.examination.observing import run_of, seen


@pytest.mark.parametrize(
    ("steps", "axis", "first_share"),
    [
        ([0, 1, 2], "step", 0.0),
        ([2, 3, 4], "step", 0.5),
        ([0, 0], "step", 0.0),
        ([-2, -1], "step", 0.0),
        ([2, 3], "epoch", None),
        ([2, 4], "index", 0.5),
    ],
)
def test_a_log_begins_at_a_share_of_its_steps(steps: list[int], axis: str, first_share: float | None) -> None:
    told = seen(run_of(train_loss=f"1x{len(steps)}", steps=steps, axis=axis))
    assert told.get("first_share") == first_share
    assert told["last_step"] == steps[-1]


@pytest.mark.parametrize(("total", "done"), [(8, 0.5), (4, 1.0), (1, 4.0), (0, None), ("auto", None)])
def test_a_run_has_done_a_share_of_what_is_planned(total: object, done: float | None) -> None:
    assert seen(run_of(train_loss="1x5"), run_total_steps=total).get("done") == done
    assert "done" not in seen(run_of(), run_total_steps=8)


@pytest.mark.parametrize(
    ("series", "share"),
    [
        ({"eval_accuracy": "0.2 0.4 0.8 0.6"}, 0.6),
        ({"eval_accuracy": "20 40 80 60"}, 0.6),
        ({"eval_accuracy": "0.2 1 0.9"}, 0.9),
        ({"eval_accuracy": "0.2 1.01 0.9"}, 0.009),
        ({"eval_accuracy": "0.2 0.4 nan"}, 0.3),
        ({"eval_accuracy": "0.2x3", "train_accuracy": "0.9x3"}, 0.2),
        ({"train_accuracy": "0.9x3"}, 0.9),
        ({"train_loss": "0.9x3"}, None),
        ({"eval_accuracy": "nan"}, None),
    ],
)
def test_an_accuracy_is_that_of_the_last_three_points_as_a_share(
    series: dict[str, str], share: float | None
) -> None:
    expected = None if share is None else pytest.approx(share)
    assert seen(run_of(**series)).get("accuracy_share") == expected


def test_the_level_of_a_loss_is_its_median() -> None:
    assert seen(run_of(train_loss="9 1 2 nan"))["loss_level"] == 2.0
    assert "loss_level" not in seen(run_of(train_loss="nan"))


@pytest.mark.parametrize(
    ("better", "worse", "source"),
    [
        ("1x8", "1x5 nanx3", "worse.log"),
        ("1x5", "nanx3", "worse.log"),
        ("1x5", "nanx2", None),
        ("1x5", "1 1 1 nan nan", None),
        ("1x5", "nan nan nan 1", None),
    ],
)
def test_a_worse_source_that_ends_in_no_numbers_is_told(better: str, worse: str, source: str | None) -> None:
    def told(metric: str) -> object:
        run = Run("case", role_of=lambda _: RoleGuess("train.loss"))
        for name, notation, file, precision in (
            ("loss", better, "better.log", 3),
            (metric, worse, "worse.log", 0),
        ):
            values = series_from(notation, seed=name)
            at, times = np.arange(len(values)), np.full(len(values), math.nan)
            run.add(Points(name, at, values, times, file, precision=precision))
        return seen(run).get("nonfinite_source")

    assert told("loss") == source
    assert told("other_loss") is None


@pytest.mark.parametrize(("number", "platform"), [(LINES - 1, "rocm"), (LINES, None)])
def test_the_platform_is_named_by_a_fact_or_by_one_of_the_first_lines(
    number: int, platform: str | None
) -> None:
    quiet = [Line("quiet", "a.log", at) for at in range(number)]
    assert seen(run_of(*quiet, Line("HIP error: no device", "a.log", 9999))).get("platform") == platform
    assert seen(run_of(Fact("torch", "2.4+rocm6", "version"))).get("platform") == "rocm"
    assert "platform" not in seen(run_of(Fact("rocm", 7, "version")))


def test_an_evaluation_is_what_a_family_of_held_out_data_says() -> None:
    for nature, evaluated in (
        (Nature("loss", held_out=True), True),
        (Nature("score", held_out=True), True),
        (Nature("error", held_out=True), True),
        (Nature("clock", held_out=True), None),
        (Nature("loss"), None),
    ):
        run = run_of(val_AP="0.1x3")
        next(iter(run.series.values())).nature = nature
        assert seen(run).get("evaluated") is evaluated, nature
    empty = run_of(val_AP="nanx3")
    next(iter(empty.series.values())).nature = Nature("loss", held_out=True)
    assert "evaluated" not in seen(empty)


@pytest.mark.parametrize(
    ("facts", "axis", "length"),
    [
        ({"run_total_steps": 40}, "step", 40),
        ({"run_total_steps": 40, "run_epochs": 9}, "epoch", 9),
        ({"run_total_steps": 40, "run_epochs": 4}, "epoch", 4),  # it has come just as far
        ({"run_total_steps": 40, "run_epochs": 3}, "epoch", 40),
        ({"run_epochs": 4}, "step", 4),
        ({"run_epochs": 3}, "step", None),
        ({"run_epochs": "auto", "run_total_steps": 40}, "epoch", 40),
        ({"run_total_steps": 0}, "step", None),
        ({"run_total_steps": "auto"}, "step", None),
    ],
)
def test_a_run_is_planned_by_what_its_log_counts(
    facts: dict[str, Any], axis: str, length: float | None
) -> None:
    assert seen(run_of(train_loss="1x5", axis=axis), **facts).get("planned_length") == length


T = 1_767_300_000.0


def timed(times: list[float], *records: Any, steps: list[int] | None = None) -> Run:
    run = Run("log", role_of=RoleGuess)
    at = np.array(steps if steps is not None else range(len(times)), np.int64)
    run.add(Points("train.loss", at, np.ones(len(times)), np.array(times), "log", lines=at + 1))
    run.extend(records)
    return run


def test_a_usual_interval_needs_three_times() -> None:
    assert seen(timed([T, T + 10]))["usual_interval"] == 0.0
    assert seen(timed([T, T + 10, T + 30]))["usual_interval"] == pytest.approx(19.0)
    assert seen(timed([T, math.nan, T + 10]))["usual_interval"] == 0.0


@pytest.mark.parametrize(
    ("extra", "told"),
    [(3600.0, False), (3610.0, False), (3611.0, True), (3590.0, False), (3589.0, True)],
)
def test_a_pause_of_an_hour_more_than_usual_is_no_pause_within_the_usual_one(
    extra: float, told: bool
) -> None:
    times = T + np.cumsum([0.0, *[10.0] * 20])
    times[8:] += extra
    assert (seen(timed(times.tolist()))["longest_gap"] == 10.0 + extra) is told


def test_points_at_the_same_second_have_no_usual_pause_but_a_longest_one() -> None:
    times = [T] * 15 + [T + 1] * 10
    told = seen(timed(times))
    assert (told["longest_gap"], told["second_gap"], told["usual_gap"]) == (1.0, 0.0, 0.0)
    times = [T] * 15 + [T + 3601.0] * 10
    assert seen(timed(times))["longest_gap"] == 0.0, "two seconds beside an hour are none"


def test_who_is_heard_again_behind_the_last_word_did_not_end_with_it() -> None:
    ended = Tick(closed=True)
    run = timed([T, T + 10.0], ended)
    run.sighting = Sighting(at=T + 500.0, written=T + 10.0)
    assert seen(run)["silent_for"] == 490.0
    assert seen(run)["silent_before_end"] == 0.0
    run.add(Fact("run.process_alive", True))
    run.add(Fact("heartbeat.state", "running"))
    assert seen(run)["silent_for"] == 490.0
    run.add(Fact("heartbeat.time", "soon"))
    assert seen(run)["silent_for"] == 490.0
