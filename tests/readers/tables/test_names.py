"""Where tables and documents keep their names: in columns, file names, cells and counters."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.tables.keys import Places, places, split_named, split_of, with_split
from hrmdoc.readers.tables.labels import Labels, metric_of, renamed, sums
from hrmdoc.readers.tables.layouts import of_catboost, of_counters, of_pandas


def test_columns_are_found_by_their_names_in_order_of_trust() -> None:
    assert places(["epoch", "step", "global_step", "time", "_timestamp"]) == Places(
        "global_step", "epoch", "_timestamp"
    )
    assert places(["loss"]) == Places(None, None, None)
    assert [split_named(word) for word in (" Val ", "testing", "train")] == ["eval", "test", ""]
    paths = ("a/val_log.csv", "val/log.csv", "train_val.csv", "test-1.csv", "x\\dev.csv")
    assert [split_of(path) for path in paths] == ["eval", "", "", "test", "eval"]
    metrics = [("loss", "eval"), ("val_loss", "eval"), ("train_loss", "test"), ("loss", "")]
    assert [with_split(*one) for one in metrics] == ["eval/loss", "val_loss", "train_loss", "loss"]


@pytest.mark.parametrize(
    ("names", "path", "comment", "full"),
    [
        (["step", "value"], "train_loss.csv", "", ["step", "train_loss"]),
        (["", "0"], "val_acc.csv", "", ["step", "val_acc"]),
        (["step", "value"], "table.csv", "", ["step", "value"]),
        (["step", "loss"], "train_acc.csv", "", ["step", "loss"]),
        (["x", "y", "z"], "train_loss.csv", "", ["x", "y", "z"]),
        (["time", "y"], "train_loss.csv", "", ["time", "y"]),
        (["Wall time", "Step", "Value"], "run-a-tag-my_score.csv", "", ["Wall time", "Step", "my_score"]),
        (["step", "loss"], "plots/metrics/train/loss.tsv", "", ["step", "train/loss"]),
        (["r", "l", "t"], "monitor.csv", '{"t_start": 1}', ["episode_reward", "episode_length", "elapsed"]),
    ],
)
def test_names_that_stand_elsewhere_are_put_into_the_header(
    names: list[str], path: str, comment: str, full: list[str]
) -> None:
    assert renamed(names, path, comment) == full
    assert metric_of("run-fold1-tag-val_loss.csv") == "val_loss"
    assert metric_of("table.csv") == ""


def test_parts_of_a_loss_without_a_whole_are_summed() -> None:
    names = ["train/box_loss", "train/cls_loss", "val/box_loss", "train/acc", "val/dfl_loss"]
    assert sums(names) == {"train/box+cls_loss": [0, 1], "val/box+dfl_loss": [2, 4]}
    assert sums(["train/box_loss"]) == {}
    assert sums(["train/cls_loss", "train/dfl_loss"]) == {}


def test_rows_of_long_tables_name_the_part_or_the_metric_of_their_value() -> None:
    labels = Labels(["step", "phase", "metric", "value"])
    labels.see([["1", "1", "2"], ["train", "val", "val"], ["loss", "loss", "acc"], ["3", "4", "5"]])
    told = {name: None if rows is None else rows.tolist() for name, rows in labels.of("value", 3)}
    assert told == {
        "loss": [True, False, False],
        "eval/loss": [False, True, False],
        "eval/acc": [False, False, True],
    }
    assert [name for name, _ in labels.of("lr", 0)] == ["lr", "eval/lr", "eval/lr"]
    labels.see(())
    assert list(labels.of("value", 3)) == [("value", None)]
    plain = Labels(["step", "loss"])
    plain.see([["1"], ["2"]])
    assert list(plain.of("loss", 1)) == [("loss", None)]


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"columns": ["a", "b"], "data": [[1, 2], [3, 4]]}, {"a": [1, 3], "b": [2, 4]}),
        ({"columns": ["a", "b"], "data": [[1], [3, 4]]}, None),
        ({"loss": {"0": 2.1, "1": 1.9}}, {"loss": [2.1, 1.9]}),
        ({"loss": {"0": 2.1}}, None),
        ({"loss": {"1": 2.1, "2": 1.9}}, None),
        ({"loss": {"0": 2.1, "1": 1.9}, "x": {"0": 1, "1": 2, "2": 3}}, None),
        ({"acc": {"0": 2.1, "1": 1.9}}, None),
        ({}, None),
        ([], None),
    ],
)
def test_a_table_of_pandas_becomes_lists_by_name(tree: Any, found: Any) -> None:
    assert of_pandas(tree) == (tree if found is None else found)


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"0": {"loss": 2}, "1": {"loss": 1}}, [{"step": 0, "loss": 2}, {"step": 1, "loss": 1}]),
        ({"epoch_1": {"x": 2}, "epoch_2": {"x": 1}}, [{"epoch": 1, "x": 2}, {"epoch": 2, "x": 1}]),
        ({"0": {"f1": 2}, "1": {"f1": 1}}, None),  # classes
        ({"1": {"loss": 2}, "0": {"loss": 1}}, None),
        ({"0": {"loss": 2}}, None),
        ({"0": {"loss": 2}, "1": {"loss": [1]}}, None),
        ({"0": {"loss": 2}, "1": {}}, None),
        ({"0": {"loss": 2}, "x": {"loss": 1}}, None),
    ],
)
def test_rows_by_their_counter_become_a_list_of_rows(tree: Any, found: Any) -> None:
    assert of_counters(tree) == (tree if found is None else found)
    assert of_counters({"deep": tree}) == {"deep": tree if found is None else found}


def test_rows_of_catboost_get_the_names_of_their_metrics() -> None:
    meta = {"learn_metrics": [{"name": "Logloss"}, {}], "test_metrics": [{"name": "AUC"}]}
    rows = [{"iteration": 0, "learn": [0.6, 0.5], "test": [0.7]}, "x", {"iteration": 1, "learn": [0.4]}]
    assert of_catboost({"meta": meta, "iterations": rows}) == {
        "history": [
            {"step": 0, "train_Logloss": 0.6, "train_loss": 0.5, "val_AUC": 0.7},
            {"step": 1, "train_Logloss": 0.4},
        ]
    }


def test_a_metric_of_catboost_bears_its_parameter_where_another_has_its_name_alone() -> None:
    learn = [{"name": name} for name in ("Quantile:alpha=0.5", "NDCG:top=5")]
    meta = {"learn_metrics": learn, "test_metrics": [*learn, {"name": "NDCG:top=10"}]}
    rows = [{"iteration": 0, "learn": [0.6, 0.5], "test": [0.7, 0.4, 0.3]}]
    [row] = of_catboost({"meta": meta, "iterations": rows})["history"]
    assert list(row) == [
        "step",
        "train_Quantile",
        "train_NDCG:top=5",
        "val_Quantile",
        "val_NDCG:top=5",
        "val_NDCG:top=10",
    ]


def test_what_is_no_record_of_catboost_stays_as_it_is() -> None:
    meta = {"learn_metrics": [{"name": "Logloss"}]}
    for other in ({"meta": {}, "iterations": []}, {"meta": meta}, {"meta": 1, "iterations": []}):
        assert of_catboost(other) == other
