"""hrmdoc.roles.sides: scores that do not say which part of the data they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

import hrmdoc
from hrmdoc.roles import RoleMap
from hrmdoc.rulebook import load

EPOCHS = {"train_loss": 20, "val_loss": 20}


@pytest.mark.parametrize(
    ("metrics", "score", "role"),
    [
        (EPOCHS | {"F1": 20}, "F1", "eval.accuracy"),
        (EPOCHS | {"AUC": 20, "train_acc": 20}, "AUC", "eval.accuracy"),
        (EPOCHS | {"exact_match": 20}, "exact_match", "eval.exact_accuracy"),
        (EPOCHS | {"train_acc": 20}, "train_acc", "train.accuracy"),
        # a score of the evaluation stands there: what names no part is of the other
        (EPOCHS | {"acc": 20, "val_acc": 20}, "acc", "train.accuracy"),
        # written with every batch, as the training loss is
        ({"train_loss": 400, "val_loss": 20, "acc": 400}, "acc", "train.accuracy"),
        # Keras names its training loss without a part as well
        ({"loss": 20, "val_loss": 20, "accuracy": 20}, "accuracy", "train.accuracy"),
        ({"train_loss": 20, "acc": 20}, "acc", "train.accuracy"),
        # what the best is kept of, each time
        ({"loss": 20, "Accuracy": 20, "Best_acc": 20}, "Accuracy", "eval.accuracy"),
        ({"loss": 400, "acc": 400, "best_acc": 20}, "acc", "train.accuracy"),
        ({"loss": 20, "acc": 20, "best_val_acc": 20}, "acc", "train.accuracy"),
        ({"loss": 20, "acc": 20, "best_f1": 20}, "acc", "train.accuracy"),
    ],
)
def test_a_score_without_a_part_is_of_the_evaluation_where_the_losses_say_theirs(
    metrics: dict[str, int], score: str, role: str
) -> None:
    roles = RoleMap(load())
    roles.settle("unknown", metrics)
    assert roles(score).role == role


def table(tmp_path: Path, header: str, train: list[float], held_out: list[float]) -> dict[str, str | None]:
    path = tmp_path / "curves.csv"
    rows = (f"{at},{one},{other}\n" for at, (one, other) in enumerate(zip(train, held_out, strict=True)))
    path.write_text(header + "\n" + "".join(rows))
    run = hrmdoc.analyze(path).run
    return {one.key.metric: one.role.role for one in run.series.values()}


FALLING = [2.0 - at / 20 for at in range(20)]


@pytest.mark.parametrize("header", [",train,valid", "epoch,train,valid", "Unnamed: 0,train,valid"])
def test_columns_that_are_called_by_their_part_alone_are_losses(tmp_path: Path, header: str) -> None:
    roles = table(tmp_path, header, FALLING, FALLING[:5] + FALLING[:15])
    assert roles["train"] == "train.loss"
    assert roles["valid"] == "eval.loss"


@pytest.mark.parametrize(
    ("header", "train"),
    [
        ("epoch,train,valid", [0.4 + at / 40 for at in range(20)]),  # what rises is no loss
        ("epoch,train,loss", FALLING),
        ("epoch,train,valid_loss", FALLING),
    ],
)
def test_they_are_none_where_they_rise_or_a_loss_is_named(
    tmp_path: Path, header: str, train: list[float]
) -> None:
    assert table(tmp_path, header, train, train)["train"] is None
