"""What libraries of boosted trees and of linear models measure, by words that name penalties elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hrmdoc import rulebook
from hrmdoc.analysis import analyze
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap
from hrmdoc.roles.framework import detect

BOOK = rulebook.load()


@pytest.mark.parametrize(
    ("framework", "metric", "role"),
    [
        ("lightgbm", "training/l2", "train.loss"),
        ("lightgbm", "valid_0/l1", "eval.loss"),
        ("lightgbm", "valid_1/gamma_deviance", "eval.loss"),
        ("lightgbm", "valid_1/average_precision", "eval.score"),
        ("lightgbm", "valid_0/r2", "eval.score"),
        ("xgboost", "train-rmsle", "train.loss"),
        ("xgboost", "validation_0-merror", "eval.loss"),
        ("xgboost", "eval-aucpr", "eval.score"),
        ("catboost", "val_Poisson", "eval.loss"),
        ("catboost", "train_TotalF1", "train.accuracy"),
    ],
)
def test_what_a_library_measures_is_known_on_each_part_of_the_data_in_its_runs_alone(
    framework: str, metric: str, role: str
) -> None:
    elsewhere, here = RoleMap(BOOK), RoleMap(BOOK)
    here.settle(framework)
    assert (elsewhere(metric).role, here(metric).role) == (None, role)


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        ("train-error@0.7", "train.loss"),
        ("eval-tweedie-nloglik@1.5", "eval.loss"),
        ("training/multi_error@2", "train.loss"),
        ("valid_0/multi_error@2", "eval.loss"),
    ],
)
def test_an_error_at_a_threshold_is_one(metric: str, role: str) -> None:
    assert RoleMap(BOOK)(metric).role == role


def test_the_norm_beside_the_counts_of_a_linear_model_is_that_of_its_weights() -> None:
    run = Run("run", RoleMap(BOOK))
    for name in ("Norm", "NNZs", "Bias"):
        run.add(Points(name, np.arange(2), np.ones(2), np.full(2, np.nan), "a.log"))
    found = detect(run, BOOK)
    role = RoleMap(BOOK)
    role.settle(str(found.id))
    assert role("Norm").role == "param_norm"
    assert RoleMap(BOOK)("Norm").role == "grad_norm"


def test_a_nan_in_the_default_measure_of_a_regression_with_boosted_trees_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    values = [*(f"{1 / at:.4f}" for at in range(1, 30)), "nan", "nan", "nan"]
    log.write_text(
        "".join(f"[{at}]\ttraining's l2: {one}\tvalid_0's l2: {one}\n" for at, one in enumerate(values, 1))
    )
    assert analyze(log).verdict == "critical"
