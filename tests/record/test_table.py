"""All points of a run as one table."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hrmdoc.errors import UsageError
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess


def run() -> Run:
    found = Run("here", role_of=lambda metric: RoleGuess(metric))
    for metric, steps, values in (("loss", [0, 1, 2, 1], [3.0, 2.0, 1.0, 1.5]), ("lr", [1, 3], [0.1, 0.2])):
        at = np.array(steps)
        found.add(Points(metric, at, np.array(values), np.full(len(at), np.nan), "a.log"))
    return found


def test_every_step_has_a_row_and_a_step_written_twice_keeps_its_last_record() -> None:
    steps, columns = run().table()
    assert steps.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(columns["loss"], [3.0, 1.5, 1.0, np.nan])
    np.testing.assert_array_equal(columns["lr"], [np.nan, 0.1, np.nan, 0.2])


def test_a_run_without_points_gives_an_empty_table() -> None:
    steps, columns = Run("here", role_of=lambda metric: RoleGuess(metric)).table()
    assert (steps.tolist(), columns) == ([], {})


def test_a_frame_is_the_table() -> None:
    frame = run().frame()
    assert frame.index.name == "step"
    np.testing.assert_array_equal(frame["loss"], [3.0, 1.5, 1.0, np.nan])


def test_a_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"hrmdoc\[frames\]"):
        run().frame()
