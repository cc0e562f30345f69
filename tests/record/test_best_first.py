"""Which of many series of one role is asked first."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series, best_first


def of_so_many(number: int) -> Run:
    """A run in which each line names a metric of its own."""
    run = Run()
    for at in range(number):
        values, steps = np.array([1.0]), np.array([at], np.int64)
        run.add(
            Points(f"loss_{at}", steps, values, np.array([np.nan]), "a.log", steps, precision=3, source="a")
        )
    return run


def looks(number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a series is asked for its length until they are in order."""
    run, asked = of_so_many(number), 0
    length = Series.__len__

    def counted(series: Series) -> int:
        nonlocal asked
        asked += 1
        return length(series)

    with monkeypatch.context() as patched:
        patched.setattr(Series, "__len__", counted)
        assert len(best_first([*run.series.values()])) == number
    return asked


def test_the_work_grows_with_the_number_of_series_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = looks(100, monkeypatch), looks(400, monkeypatch)
    assert many < 5 * few
