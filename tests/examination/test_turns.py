"""What happened at one step: resumes, and the break of a loss, at the bounds from which they are told."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hrmdoc.examination.cases.notation import series_from
from hrmdoc.record.records import Event
from tests.examination.observing import run_of, seen


def resumed(at: int | None, *, steps: Any = None, **series: str) -> dict[str, Any]:
    return seen(run_of(Event("resume", "case.log", step=at), steps=steps, **series))


def test_resumes_with_a_step_are_counted() -> None:
    assert resumed(4, train_loss="1x9")["resumes"] == 1
    assert resumed(None, train_loss="1x9")["resumes"] == 0


@pytest.mark.parametrize(
    ("notation", "at", "ratio"),
    [
        ("1x5 4x5", 4, 4.0),
        ("4x5 1x5", 4, 0.25),
        ("1 4 4", 0, None),  # at step 0 nothing was resumed
        ("1 4 4", 1, 1.0),
        ("1 1 4", 1, 4.0),
        ("1x3", 2, None),
        ("0x5 4x5", 4, None),
    ],
)
def test_a_rate_is_compared_on_both_sides_of_the_resume(notation: str, at: int, ratio: float | None) -> None:
    assert resumed(at, lr=notation).get("resume_lr_ratio") == ratio


def test_a_loss_that_rose_at_the_resume_is_told_by_its_scatter_its_gain_and_what_was_lost() -> None:
    ripple = " ".join(["2 2.2"] * 8)
    told = resumed(16, train_loss=f"4 {ripple} 2.5x3")
    assert told["resume_loss_rise"] == pytest.approx(0.4 * 3 / 0.21 / math.sqrt(3))
    assert told["gained_before_resume"] == pytest.approx(1.9 / 0.21)
    assert told["lost_at_resume"] == pytest.approx(0.4 / 1.9)
    still = resumed(8, train_loss="5x9 6x3")
    assert still["resume_loss_rise"] == pytest.approx(3 / 0.1 / math.sqrt(3)), "two parts in a hundred"
    assert "gained_before_resume" not in still
    zero = resumed(8, train_loss="0x9 1e-12x3")
    assert zero["resume_loss_rise"] == pytest.approx(math.sqrt(3))
    older = resumed(19, train_loss=f"9x4 {ripple} 2.5x3")
    assert older["resume_loss_rise"] == told["resume_loss_rise"], "sixteen points are the past"


@pytest.mark.parametrize(
    ("notation", "at", "judged"),
    [("5x8 6x3", 7, True), ("5x7 6x3", 6, False), ("5x8 6x2", 7, False), ("5x7 nan 6x3", 7, False)],
)
def test_a_rise_needs_eight_points_before_the_resume_and_three_behind_it(
    notation: str, at: int, judged: bool
) -> None:
    assert ("resume_loss_rise" in resumed(at, train_loss=notation)) is judged


@pytest.mark.parametrize(
    ("steps", "at", "ratio"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8], 5, 4.0),
        ([0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8], 7, 4.0),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 7, 4.0),
        ([0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8], 8, None),  # behind all that fell back
    ],
)
def test_the_seam_is_where_steps_fell_back_or_the_first_beyond_the_resume(
    steps: list[int], at: int, ratio: float | None
) -> None:
    assert resumed(at, steps=steps, lr="1x8 4x4").get("resume_lr_ratio") == ratio


@pytest.mark.parametrize(
    ("grads", "before", "to_break", "growth"),
    [
        ("1 2 3 4 5", 5 / 3, 6, None),
        ("1 2 3 4", None, None, None),
        ("1x5 3x5", 1.5, 1, 3.0),
        ("1x5 3x4", 3.0, 2, None),
        ("0x4 2", math.inf, 6, None),
        ("0x5", 0.0, 6, None),
        ("1x4 2 nan", math.inf, 5, None),
        ("0x5 3x5", 2.0, 1, None),
        ("1 9 1 9 1 3x5", 1.0, 1, 3.0),
    ],
)
def test_gradients_before_a_loss_breaks_are_told_by_their_median_their_distance_and_their_growth(
    grads: str, before: float | None, to_break: int | None, growth: float | None
) -> None:
    count = len(series_from(grads, seed=""))
    told = seen(run_of(train_loss=f"1x{max(10, count)} nanx2", grad_norm=grads))
    if to_break is not None:
        to_break = max(10, count) - (count - 1)
    found = (told.get("gradient_before_break"), told.get("steps_to_break"), told.get("gradient_growth"))
    assert found == (before and pytest.approx(before), to_break, growth)
    assert "gradient_before_break" not in seen(run_of(train_loss="1x12", grad_norm=grads))


def twice(rise: float) -> dict[str, Any]:
    """What is told of a loss that falls for 231 steps and goes on from a checkpoint of step 200."""
    course = [2.3 * math.exp(-step / 100) + 0.4 for step in range(400)]
    steps = [*range(231), *range(201, 400)]
    values = [course[step] + rise * (at > 230) for at, step in enumerate(steps)]
    rates = [1e-6 * 1.02**step for step in steps]
    said = {name: " ".join(map(str, every)) for name, every in (("train_loss", values), ("lr", rates))}
    return resumed(201, steps=steps, **said)


def test_steps_that_are_done_twice_are_compared_with_themselves() -> None:
    told = twice(0.0)
    assert abs(told["resume_loss_rise"]) < 1, "its like of the first time, and not what came after it"
    assert abs(told["lost_at_resume"]) < 0.02
    assert told["resume_lr_ratio"] == pytest.approx(1.0)
    assert twice(0.5)["resume_loss_rise"] > 10


def test_a_log_that_begins_behind_its_resume_has_nothing_before_it() -> None:
    told = resumed(1, steps=range(20, 40), train_loss="1x20", lr="1x20")
    assert told["resumes"] == 1
    assert "resume_loss_rise" not in told
    assert "resume_lr_ratio" not in told
