"""Small runs, and how a condition stands on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import convert

from hrmdoc.examination.nodes import build
from hrmdoc.examination.scene import Finding, Scene
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.rulebook import When


def run_of(
    values: list[float], *, steps: list[int] | None = None, axis: Any = "step", rank: int | None = 3
) -> Run:
    """A training loss called `my_loss`: a point each 10 steps and 5 s, from line 101 of `x.log` on."""
    run = Run("x", role_of=lambda name: RoleGuess("train.loss" if name == "my_loss" else name))
    numbers = np.array(values, np.float64)
    at = np.array(steps if steps is not None else np.arange(len(values)) * 10, np.int64)
    times = 1000.0 + np.arange(len(values)) * 5.0
    lines = np.arange(len(values)) + 101
    run.add(Points("my_loss", at, numbers, times, "x.log", lines=lines, rank=rank, axis=axis))
    return run


def found(when: dict[str, Any], run: Run, **scene: Any) -> Finding:
    """How a condition stands."""
    return build(convert(when, When), "oom").evaluate(Scene(run, **scene))
