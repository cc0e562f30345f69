"""What a detector at work costs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from msgspec.structs import replace

from hrmdoc.examination.nodes import build
from hrmdoc.examination.scene import Scene
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import When


def scene(values: np.ndarray) -> Scene:
    run = Run("x", role_of=RoleGuess)
    steps = np.arange(len(values))
    run.add(Points("train.loss", steps, values, steps * 1.0, "x.log"))
    return Scene(run)


@pytest.mark.parametrize("detector", ["level", "growth", "run"])
def test_a_rule_takes_less_room_than_the_curve_that_it_looks_at(detector: str) -> None:
    n = 1 << 20
    where = scene(np.linspace(3.0, 1.0, n))
    when = When(detector=detector, role="train.loss", enter=1e9, min_points=8)
    build(when, "x").evaluate(scene(np.ones(100)))  # loads the detector
    tracemalloc.start()
    found = build(when, "x").evaluate(where)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.state == "absent"
    assert most < 8 * n


def on_ranks(**losses: list[float]) -> Scene:
    run = Run("x", role_of=RoleGuess)
    for rank, values in enumerate(losses.values()):
        steps = np.arange(len(values))
        run.add(Points("train.loss", steps, np.array(values), steps * 1.0, f"{rank}.log", rank=rank))
    return Scene(run)


def test_what_is_wrong_on_any_rank_is_seen_where_the_rule_asks_for_each() -> None:
    where = on_ranks(first=[2.0] * 9, second=[2.0] * 5 + [np.nan] * 4, third=[2.0] * 9)
    when = When(detector="nonfinite", role="train.loss", enter=1)
    assert build(when, "x").evaluate(where).state == "absent"
    found = build(replace(when, each_rank=True), "x").evaluate(where)
    assert (found.state, found.first_step, found.file) == ("present", 5, "1.log")
    assert (found.rank, found.values["of_rank"], found.values["held"]) == (1, 1, 4)


def test_of_the_lowest_rank_no_rank_is_named() -> None:
    where = on_ranks(first=[2.0] * 5 + [np.nan] * 4, second=[2.0] * 5 + [np.nan] * 4)
    found = build(When(detector="nonfinite", role="train.loss", enter=1, each_rank=True), "x").evaluate(where)
    assert (found.state, found.file) == ("present", "0.log")
    assert "of_rank" not in found.values
