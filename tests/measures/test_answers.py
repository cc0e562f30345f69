"""Answers of functions are kept (`answers.yaml`), since what rules say follows from them; and what symptoms
say of themselves."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from hrmdoc import measures
from hrmdoc.examination.cases.notation import series_from
from hrmdoc.measures.base import LIMIT
from hrmdoc.measures.function import Curve

KEPT: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("answers.yaml").read_text())
ROWS = [(name, row) for name, rows in KEPT.items() for row in rows]
FUNCTIONS = measures.all_functions()


def given(name: str, row: dict[str, Any]) -> list[Any]:
    """What a function is asked of: curves or their values, then numbers."""
    numbers = list(row.get("with", {}).values())
    values = [series_from(one, seed=one) for one in row["of"]]
    if FUNCTIONS[name].subject == "values":
        return values + numbers
    count = len(values[0])
    steps = np.array(row.get("steps", range(count)), np.int64)
    times = np.array(row.get("times", np.arange(count) * row.get("every", 60.0)), np.float64)
    role, axis, runs = row.get("role", "train.loss"), row.get("axis", "step"), row.get("runs", 1)
    return [Curve(role, steps, one, axis, runs, times[: len(one)]) for one in values] + numbers


def test_answers_of_every_function_of_curves_are_kept() -> None:
    assert set(KEPT) == {name for name, one in FUNCTIONS.items() if one.subject in ("values", "curve")}


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(ROWS)])
def test_a_curve_gives_the_answer_that_it_did_and_its_course_ends_there(
    name: str, row: dict[str, Any]
) -> None:
    asked = given(name, row)
    answer, course = FUNCTIONS[name](*asked), FUNCTIONS[name].along(*asked)
    if row["answer"] is None:
        assert answer is None
    else:
        assert answer == pytest.approx(row["answer"], rel=1e-3, abs=1e-9)
    if course is not None:
        last = np.nan if row["answer"] is None else float(row["answer"])
        np.testing.assert_allclose(course[-1], last, rtol=1e-3, atol=1e-9)


def how(state: str, first_step: int | None = None, count: int = 0, **values: float) -> SimpleNamespace:
    """A symptom as an expression sees it."""
    return SimpleNamespace(state=state, first_step=first_step, count=count, values=values)


NOW, OVER = how("present", 30, 2, peak=4.0), how("resolved", 10, 3, peak=9.0)
NEVER, UNKNOWN = how("absent"), how("not_evaluated")


@pytest.mark.parametrize(
    ("name", "symptoms", "answer"),
    [
        ("present", [NOW, OVER], True),
        ("present", [OVER, NEVER], False),
        ("present", [UNKNOWN, NEVER], False),
        ("present", [UNKNOWN, None], None),
        ("present", [], None),
        ("seen", [NEVER, NOW], True),
        ("seen", [OVER], True),
        ("seen", [NEVER, UNKNOWN, None], False),
        ("began", [NOW, OVER, NEVER, None], 10),
        ("began", [NEVER, None], None),
        ("episodes", [NOW, OVER, None], 5),
        ("episodes", [None], 0),
        ("peak", [NOW, OVER, NEVER, None], 9.0),
        ("peak", [NEVER, None], None),
    ],
)
def test_of_several_symptoms_one_answer_is_made(
    name: str, symptoms: list[SimpleNamespace | None], answer: object
) -> None:
    assert FUNCTIONS[name](*symptoms) == answer


@pytest.mark.parametrize(
    ("name", "levels", "answer"),
    [
        ("rank_ratio", {0: 2.0, 1: 2.0, 5: 6.0}, (3.0, 5)),
        ("rank_ratio", {0: -2.0, 1: -2.0, 5: -1.0}, (-0.5, 5)),
        ("rank_ratio", {0: 0.0, 1: 0.0, 5: 6.0}, None),
        ("rank_spread", {0: 2.0, 1: 2.0, 5: 6.0}, (2.0, 5)),
        ("rank_spread", {0: 2.0, 1: 0.5, 5: 3.0}, (1.25, 1)),
        ("rank_spread", {0: 0.0, 1: 0.0}, None),
    ],
)
def test_ranks_are_compared_with_the_median_of_all_and_the_farthest_is_named(
    name: str, levels: dict[int, float], answer: tuple[float, int] | None
) -> None:
    assert FUNCTIONS[name](levels) == answer


@pytest.mark.parametrize("asked", [[-1e300, 5.0], [5.0, 1e300], [math.nan, 1e300]])
def test_magnitudes_beyond_all_measure_are_cut_and_others_stay(asked: list[float]) -> None:
    first, last = FUNCTIONS["first"], FUNCTIONS["last"]
    cut = np.clip(asked, -LIMIT, LIMIT)
    np.testing.assert_equal([first(np.array(asked)), last(np.array(asked))], cut)
    np.testing.assert_equal(last.along(np.array(asked)), cut)


def test_a_course_waits_for_the_points_that_the_function_needs() -> None:
    np.testing.assert_equal(FUNCTIONS["spread"].along(np.array([1.0, 2, 3, 3])), [np.nan, np.nan, 1.0, 0.8])
    np.testing.assert_equal(FUNCTIONS["last"].along(np.array([1.0, 2])), [1.0, 2.0])
    assert FUNCTIONS["leap"].along(np.arange(9.0)) is None
    assert FUNCTIONS["median_of"].along(np.zeros(10_001)) is None
    assert FUNCTIONS["spread"].along(np.zeros(10_001)) is None
    ten_thousand = FUNCTIONS["median_of"].along(np.zeros(10_000))
    assert ten_thousand is not None
    assert not ten_thousand.any()
