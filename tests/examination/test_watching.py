"""What a detector at work costs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

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
