"""Where two runs part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hrmdoc.analysis import analyze
from hrmdoc.record.records import FloatArray, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import Series
from hrmdoc.reports.compare import differences, parting

NOISE = np.random.default_rng(0).normal(0, 0.02, (2, 200))
FALL = 2 * np.exp(-np.arange(200) / 60) + 0.5


def series(values: FloatArray, first: int = 0) -> Series:
    run = Run("x")
    steps = np.arange(first, first + len(values), dtype=np.int64)
    run.add(Points("loss", steps, values, np.full(len(values), np.nan), "x"))
    return next(iter(run.series.values()))


def test_two_noisy_copies_of_one_curve_do_not_part() -> None:
    found = parting("train.loss", series(FALL + NOISE[0]), series(FALL + NOISE[1]))
    assert found is not None
    assert found.step is None


def test_one_outlier_is_no_parting() -> None:
    other = FALL + NOISE[0]
    other[100] = 9.0
    found = parting("train.loss", series(other), series(FALL + NOISE[1]))
    assert found is not None
    assert found.step is None


def test_the_step_of_the_parting_is_found() -> None:
    other = FALL + NOISE[0] + np.where(np.arange(200) >= 120, 1.0, 0.0)
    found = parting("train.loss", series(other), series(FALL + NOISE[1]))
    assert found is not None
    assert found.step == 120
    assert found.sick - found.healthy == pytest.approx(1.0, abs=0.1)


def test_a_nan_is_away() -> None:
    other = FALL + NOISE[0]
    other[150:] = np.nan
    found = parting("train.loss", series(other), series(FALL + NOISE[1]))
    assert found is not None
    assert found.step == 150


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_in_both_runs_alike_is_no_parting(value: float) -> None:
    broken = np.where(np.arange(200) >= 100, value, FALL)
    found = parting("train.loss", series(broken), series(broken))
    assert found is not None
    assert found.step is None
    nothing = np.full(200, value)
    found = parting("train.loss", series(nothing), series(nothing))
    assert found is not None
    assert found.step is None


@pytest.mark.parametrize(("sick", "healthy"), [(1.0, np.inf), (np.inf, -np.inf), (np.nan, np.inf)])
def test_what_is_not_finite_in_another_way_is_away(sick: float, healthy: float) -> None:
    found = parting("train.loss", series(np.full(200, sick)), series(np.full(200, healthy)))
    assert found is not None
    assert found.step == 0


def test_runs_without_shared_steps_are_not_compared() -> None:
    assert parting("train.loss", series(FALL), series(FALL, first=1000)) is None


def test_what_is_usual_and_what_a_clock_says_are_no_difference_of_two_runs(tmp_path: Path) -> None:
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for log, rate, pause in zip(logs, (3e-4, 6e-4), (30, 45), strict=True):
        settings = f"Namespace(lr={rate}, weight_decay=0.1, batch_size=8, optimizer='adamw')\n"
        seconds = range(0, 50 * pause, pause)
        clocks = (f"2025-03-01 10:{at // 60:02d}:{at % 60:02d}" for at in seconds)
        log.write_text(
            settings
            + "".join(f"{at} step {i} loss {2 - i / 90:.3f} accuracy 0.{i}\n" for i, at in enumerate(clocks))
        )
    mine, theirs = map(analyze, logs)
    assert mine.situation.facts["run.usual_interval"] != theirs.situation.facts["run.usual_interval"]
    assert "optimizer.weight_decay_high" in mine.situation.facts
    assert {one.key for one in differences(mine, theirs)} == {"lr", "optimizer.lr"}
