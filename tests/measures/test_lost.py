"""Runs without a named loss whose numbers end as none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.measures.functions.lost import lost_for_good
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import Families, RoleMap, classify
from hrmdoc.roles.quantities import Meanings
from hrmdoc.rulebook import load

FINE = [0.9, 0.8, 0.7, 0.6, 0.55, 0.5]
LOST = [0.9, 0.8, *[math.nan] * 4]


def run_of(columns: dict[str, list[float]], *, named: bool = True) -> Run:
    run = Run("run", role_of=RoleMap(load()) if named else lambda _: RoleGuess(None))
    for name, values in columns.items():
        run.add(Points(name, np.arange(len(values)), np.array(values), np.full(len(values), math.nan), "log"))
    classify(run, Families(load().families.values()), Meanings(load().quantities.values()))
    return run


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"loss_x": LOST, "loss_y": FINE}, "loss_x"),
        ({"loss_x": LOST, "loss_y": FINE, "loss_z": FINE}, None),
        ({"loss_x": [math.nan] * 3}, "loss_x"),
        ({"loss_x": [0.9, 0.8, 0.7, math.nan, math.nan]}, None),
        # one that was a number for long is lost whatever becomes of the others
        ({"loss_x": [*FINE * 4, *[math.nan] * 4], "loss_y": FINE * 5, "loss_z": FINE * 5}, "loss_x"),
        # losses tell, whatever else there is
        ({"loss_x": FINE, "loss_y": FINE, "col3": LOST}, None),
        # a column without a name must have been a number
        ({"col2": [math.nan] * 6}, None),
        ({"col2": LOST}, "col2"),
    ],
)
def test_half_of_what_tells_must_end_as_no_number(columns: dict[str, list[float]], lost: str | None) -> None:
    found = lost_for_good(run_of(columns, named=False))
    assert (found.key.metric if found else None) == lost


def test_a_loss_that_is_known_is_judged_by_itself() -> None:
    assert lost_for_good(run_of({"loss": FINE, "col2": LOST, "col3": LOST})) is None
