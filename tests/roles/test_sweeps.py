"""hrmdoc.roles.sweeps: a table of runs is no curve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hrmdoc.analysis import analyze
from hrmdoc.record.records import Points
from hrmdoc.record.series import RoleGuess, Series, SeriesKey
from hrmdoc.roles.sweeps import _comes_and_goes
from hrmdoc.settings import Settings

HEADER = "hidden_size,dropout,lr,val_loss,val_acc"
SIZES, DROPOUTS, RATES = (32, 64, 128), (0.1, 0.3), (0.001, 0.01, 0.1)
GRID = [(size, dropout, lr) for size in SIZES for dropout in DROPOUTS for lr in RATES]


def lost(number: int) -> float:
    return round(0.5 + (number * 7 % 11) / 3, 3)


def roles(path: Path, settings: Settings | None = None) -> set[str]:
    found = analyze(path, settings=settings or Settings()).run.series.values()
    return {one.role.role for one in found if one.role.role}


def test_rows_of_a_grid_search_are_no_curve(tmp_path: Path) -> None:
    rows = [f"{size},{dropout},{lr},{lost(n)},0.6" for n, (size, dropout, lr) in enumerate(GRID)]
    path = tmp_path / "sweep.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    analysis = analyze(path, settings=Settings())
    assert analysis.verdict == "no_data"
    assert not roles(path)


def test_rows_that_tell_how_long_each_run_was_are_no_curve(tmp_path: Path) -> None:
    rows = [
        f"{(500, 100, 1000)[n % 3]},{row[0]},{row[1]},{row[2]},{lost(n)},0.6" for n, row in enumerate(GRID)
    ]
    path = tmp_path / "experiments.csv"
    path.write_text("\n".join([f"epoch,{HEADER}", *rows]) + "\n")
    assert not roles(path)


def test_lines_of_a_grid_search_are_no_curve(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    lines = [f"layers={size}, hidden=32, epochs=20 -> MAE={lost(n)}" for n, (size, *_) in enumerate(GRID)]
    path.write_text("Grid search\n" + "\n".join(lines) + "\n")
    assert not roles(path)


@pytest.mark.parametrize(
    "row",
    [
        "batch_size={last}, lr=0.001, loss={loss}",  # the last batch of an epoch is shorter
        "hidden_size=64, lr=0.001, loss={loss}",  # a setting that stays
        "epoch {n}, hidden_size={size}, loss={loss}",  # a network that grows is placed by epochs
    ],
)
def test_a_curve_beside_settings_stays_one(tmp_path: Path, row: str) -> None:
    path = tmp_path / "train.log"
    rows = [
        row.format(n=n, loss=lost(n), last=7 if n % 4 == 3 else 32, size=32 * (1 + n // 8)) for n in range(24)
    ]
    path.write_text("\n".join(rows) + "\n")
    assert "train.loss" in roles(path)


def test_what_the_user_says_of_a_metric_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "sweep.csv"
    rows = [f"{size},{dropout},{lr},{lost(n)},0.6" for n, (size, dropout, lr) in enumerate(GRID)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    assert "eval.loss" in roles(path, Settings(roles={"val_loss": "eval.loss"}))


@pytest.mark.parametrize(
    ("values", "comes_and_goes"),
    [
        ([1, 2, 3] * 4, True),
        ([1] * 6 + [2] * 6, True),  # the outermost setting of a grid
        ([1] * 7 + [2] * 5, False),  # rises throughout
        ([2] * 6 + [1] * 6, False),  # only falls
        ([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4], False),  # hardly a value comes again
        ([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6], True),
        ([1.0] * 12, False),
    ],
)
def test_a_setting_comes_again_and_neither_rises_nor_falls_throughout(
    values: list[float], comes_and_goes: bool
) -> None:
    series = Series(SeriesKey("lr", None, "x"), RoleGuess(None), "step", 1)
    at = np.arange(len(values))
    series.extend(Points("lr", at, np.array(values, np.float64), np.full(len(at), np.nan), "x"))
    assert _comes_and_goes(series) is comes_and_goes


@pytest.mark.parametrize(("drawn", "curve"), [((100.0,), False), ((40.0, 80.0, 100.0), True)])
def test_ends_of_trainings_that_are_all_that_is_left_of_them_are_no_curve(
    tmp_path: Path, drawn: tuple[float, ...], curve: bool
) -> None:
    line = "Progress: {0:5.1f}% words/sec/thread: 4000 lr: {1:.6f} avg.loss: 0.5{2} ETA: 0h 0m\n"
    rows = [line.format(share, 0.1 - share / 1000, n) for n in range(6) for share in drawn]
    path = tmp_path / "train.log"
    path.write_text("".join(rows))
    assert ("lr" in roles(path)) is curve


@pytest.mark.parametrize(
    ("rates", "searched"), [((0.1, 0.01, 0.001, 0.2), True), ((0.1, 0.01, 0.1, 0.01), False)]
)
def test_what_is_told_below_the_settings_of_a_trial_is_no_curve(
    tmp_path: Path, rates: tuple[float, ...], searched: bool
) -> None:
    path = tmp_path / "search.log"
    path.write_text(
        "".join(
            f"{{'learning_rate': {rate}, 'epochs': 300, 'batch_size': 8}}\n"
            f"train loss: {lost(n)}\nval loss: {lost(n + 1)}\n"
            for n, rate in enumerate(rates)
        )
    )
    assert (roles(path) == set()) is searched
