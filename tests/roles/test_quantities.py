"""Which quantity a metric is by its name, and which others it can never exceed."""

from __future__ import annotations

import pytest

from hrmdoc.roles.quantities import Meanings, plain
from hrmdoc.rulebook import load

MEANINGS = Meanings(load().quantities.values())


@pytest.mark.parametrize(
    ("metric", "guess"),
    [
        ("val_auc", 0.5),
        ("test/ROC-AUC", 0.5),
        ("validAUROC", 0.5),
        ("val c-index", 0.5),
        ("val/r2", 0.0),
        ("eval_matthews_corrcoef", 0.0),
        ("cohen_kappa", 0.0),
        ("valid MASE", 1.0),
        ("psnr", 10.0),
    ],
)
def test_a_name_says_what_a_guess_gets(metric: str, guess: float) -> None:
    found = MEANINGS(metric)
    assert found is not None
    assert found.guess == guess
    assert MEANINGS(metric) is found, "from memory"


@pytest.mark.parametrize(
    "metric", ["loss", "pr_auc", "std_kappa", "auc_loss", "sauce", "num_acc", "toy_bpd", "r2d2", ""]
)
def test_other_names_say_nothing(metric: str) -> None:
    assert MEANINGS(metric) is None


def test_the_longest_name_decides() -> None:
    found = MEANINGS("explained variance score")
    assert found is not None
    assert found.guess == 0.0
    accuracy = MEANINGS("val_acc")
    assert accuracy is not None
    assert (accuracy.guess, accuracy.highest, accuracy.percent) == (None, 1.0, True)


def test_names_are_written_plainly() -> None:
    assert plain("metrics/mAP50-95(B)") == "metrics map50 95 b"


def test_orders_hold_between_names_that_differ_in_nothing_else() -> None:
    metrics = [
        "val/top1",
        "val/top5",
        "train/top5",
        "metrics/mAP50(B)",
        "metrics/mAP50-95(B)",
        "a1",
        "a2",
        "a3",
    ]
    assert MEANINGS.above(metrics) == {
        "val/top1": ("val/top5",),
        "val/top5": (),
        "metrics/mAP50-95(B)": ("metrics/mAP50(B)",),
        "metrics/mAP50(B)": (),
        "a1": ("a2", "a3"),
        "a2": ("a3",),
        "a3": (),
    }


def test_longer_lists_hold_no_fewer_hits() -> None:
    metrics = ["val/Recall@5", "val/Recall@20", "val/Recall@10", "val/NDCG@5", "val/NDCG@10", "Recall@5"]
    found = MEANINGS.above(metrics)
    assert {metric: set(others) for metric, others in found.items()} == {
        "val/Recall@5": {"val/Recall@10", "val/Recall@20"},
        "val/Recall@10": {"val/Recall@20"},
        "val/Recall@20": set(),
    }
