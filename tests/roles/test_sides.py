"""hrmdoc.roles.sides: scores that do not say which part of the data they are of."""

from __future__ import annotations

import pytest

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
    ],
)
def test_a_score_without_a_part_is_of_the_evaluation_where_the_losses_say_theirs(
    metrics: dict[str, int], score: str, role: str
) -> None:
    roles = RoleMap(load())
    roles.settle("unknown", metrics)
    assert roles(score).role == role
