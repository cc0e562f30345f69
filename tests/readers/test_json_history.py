"""hrmdoc.readers.json_history"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hrmdoc.readers import json_history
from hrmdoc.readers.support.base import Context
from hrmdoc.record.records import Damage, Fact, Points, Record
from tests.readers.feeding import fed


def read(tree: object, path: str = "history.json") -> list[Record]:
    blob = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    session = json_history.open_session(Context(path))
    return fed(session, blob)


def curves(records: list[Record]) -> dict[str, tuple[str, list[int], list[str]]]:
    return {
        r.metric: (r.axis, r.steps.tolist(), [repr(v) for v in r.values.tolist()])
        for r in records
        if isinstance(r, Points)
    }


def test_lists_by_name_are_curves_over_epochs() -> None:
    assert curves(read({"train_loss": [2.0, 1.0], "val_loss": [3.0, None]})) == {
        "train_loss": ("epoch", [1, 2], ["2.0", "1.0"]),
        "val_loss": ("epoch", [1, 2], ["3.0", "nan"]),
    }


def test_a_list_of_steps_beside_the_metric_gives_the_axis() -> None:
    assert curves(read({"history": {"step": [10, 20], "loss": [2.0, 1.0]}}))["loss"] == (
        "step",
        [10, 20],
        ["2.0", "1.0"],
    )


def test_a_list_of_objects_is_a_table() -> None:
    assert curves(read([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.5}]))["loss"] == (
        "step",
        [1, 2],
        ["2.0", "1.5"],
    )
    assert curves(read({"history": [{"epoch": 1, "loss": 2.0}]}))["loss"] == ("epoch", [1], ["2.0"])


def test_the_scalar_download_of_tensorboard() -> None:
    found = curves(read([[1700000000.0, 5, 2.5], [1700000001.0, 6, 2.0]], "run-x-tag-train_loss.json"))
    assert found == {"train_loss": ("step", [5, 6], ["2.5", "2.0"])}


def test_a_final_value_deep_inside_is_a_point_of_the_lowest_precision() -> None:
    records = read(
        {"config": {"d_model": 256, "lr": 3e-4}, "final_metrics": {"val_loss": 0.0}, "steps": 5000},
        "phase8_long.json",
    )
    (points,) = [r for r in records if isinstance(r, Points)]
    assert (points.metric, points.steps.tolist(), points.values.tolist(), points.precision) == (
        "final_metrics.val_loss",
        [5000],
        [0.0],
        0,
    )
    assert {(r.key, r.value) for r in records if isinstance(r, Fact)} >= {("d_model", 256), ("lr", 3e-4)}


def test_broken_json_is_reported_with_its_line() -> None:
    (damage,) = [r for r in read(b'{"loss": [1, 2,\n') if isinstance(r, Damage)]
    assert damage.line == 2


def test_whole_objects_of_a_torn_list_are_kept() -> None:
    records = read(b'[{"step": 1, "loss": 2.0}, {"step": 2, "lo')
    assert curves(records)["loss"][1] == [1]


@pytest.mark.parametrize("blob", [b"", b"{}", b"[]", b"null", b"3", b'{"loss": ["a"]}', b'{"loss": [[[]]]}'])
def test_a_document_that_holds_no_numbers_gives_nothing(blob: bytes) -> None:
    assert read(blob) == []


def test_a_document_nested_too_deeply_is_damaged() -> None:
    (record,) = read(b"[" * 5000)
    assert isinstance(record, Damage)
    assert "nested too deeply" in record.what


def test_a_loss_that_is_nan_is_read() -> None:
    (record,) = read(b'{"loss": [NaN]}')
    assert isinstance(record, Points)
    assert [str(value) for value in record.values] == ["nan"]


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("tokenizer.json", '{"model": {"vocab": {"the": 1}}}', False),
        ("data.json", '[{"prompt": "a", "completion": "b"}]', False),
        ("history.json", '{"loss": [1, 2]}', True),
        ("result.json", '{"final_metrics": {"val_loss": 0.0}}', True),
    ],
)
def test_sniff(name: str, text: str, taken: bool) -> None:
    assert (json_history.sniff(Path(name), text.encode()) > 0.5) is taken


def test_numbered_settings_and_classes_are_no_rows() -> None:
    report = {str(at): {"precision": 0.9, "f1-score": 0.8, "accuracy": 0.7} for at in range(10)}
    folds = {"1": {"loss": [2.0, 1.0]}, "2": {"loss": [2.0, 1.5]}}
    found = curves(read({"id2label": {"0": "cat", "1": "dog"}, "report": report, "folds": folds}))
    assert max((len(values) for _, _, values in found.values()), default=0) == 2, "no curve over classes"
    assert {name for name in found if name.endswith("loss")} == {"folds.1.loss", "folds.2.loss"}


@pytest.mark.parametrize("key", ["{}", "epoch_{}", "Epoch {}"])
def test_rows_under_their_numbers_are_a_table(key: str) -> None:
    tree = {key.format(at): {"train_loss": 2.0 / at, "val": {"loss": 3.0 / at}} for at in (1, 2, 4)}
    found = curves(read(tree))
    assert found["train_loss"][1:] == ([1, 2, 4], ["2.0", "1.0", "0.5"])
    assert found["val.loss"][1:] == ([1, 2, 4], ["3.0", "1.5", "0.75"])
    assert curves(read({"config": {"lr": 0.1}, "history": tree}))["train_loss"][1:] == (
        [1, 2, 4],
        ["2.0", "1.0", "0.5"],
    )


def test_a_bare_list_has_the_name_of_its_file_where_that_is_a_metric() -> None:
    assert curves(read([2.0, 1.0], "train_loss.json")) == {"train_loss": ("epoch", [1, 2], ["2.0", "1.0"])}
    assert json_history.sniff(Path("train_loss.json"), b"[2.0, 1.0]") > 0
    assert json_history.sniff(Path("boxes.json"), b"[2.0, 1.0]") == 0
    assert not curves(read([2.0, 1.0], "boxes.json"))


@pytest.mark.parametrize(
    "pairs",
    [
        [[10, 2.0], [5, 1.0]],  # falls
        [[0.5, 2.0], [1.5, 1.0]],  # no whole steps
        [[1, 2.0]],  # one pair is no curve
        [[1, 2.0], [2, "x"]],
        [[1, 2.0], [2, 1.0, 3.0]],
        [[1, 2.0], [None, 1.0]],
        [[1, 2.0], 3],
    ],
)
def test_other_lists_of_lists_are_no_pairs_of_step_and_value(pairs: list[object]) -> None:
    assert "loss" not in curves(read({"loss": pairs}))


def test_pairs_of_step_and_value_are_a_curve() -> None:
    assert curves(read({"loss": [[0, 2.0], [10, None], [20, 1.0]]})) == {
        "loss": ("step", [0, 10, 20], ["2.0", "nan", "1.0"])
    }
    assert curves(read([[0, 2.0], [10, 1.0]], "train_loss.json")) == {
        "train_loss": ("step", [0, 10], ["2.0", "1.0"])
    }
    assert json_history.sniff(Path("train_loss.json"), b"[[0, 2.0], [10, 1.0]]") > 0.5
    assert json_history.sniff(Path("boxes.json"), b"[[0, 2.0], [10, 1.0]]") == 0.0


def test_catboost_names_its_metrics_beside_their_values() -> None:
    rows = [{"learn": [0.6, 0.7], "iteration": at, "passed_time": 0.1, "test": [0.65]} for at in range(2)]
    meta = {
        "learn_metrics": [{"name": "Logloss"}, {"name": "AUC"}],
        "test_metrics": [{"name": "Logloss"}],
        "iteration_count": 2,
    }
    found = curves(read({"meta": meta, "iterations": rows}, "catboost_training.json"))
    assert found["train_Logloss"] == ("step", [0, 1], ["0.6", "0.6"])
    assert found["val_Logloss"] == ("step", [0, 1], ["0.65", "0.65"])
    head = json.dumps({"meta": meta}).encode()
    assert json_history.sniff(Path("catboost_training.json"), head) > 0.5


@pytest.mark.parametrize(
    ("rows", "losses"),
    [(None, 0), ([], 0), ([3], 0), ([{"learn": 0.6}], 0), ([{"learn": [0.6]}, {"iteration": "x"}], 1)],
)
def test_of_a_damaged_file_of_catboost_whole_rows_are_kept(rows: object, losses: int) -> None:
    meta = {"learn_metrics": ["Logloss", {}], "test_metrics": None}
    found = read({"meta": meta, "iterations": rows}, "catboost_training.json")
    assert sum(isinstance(one, Points) for one in found) == losses


@pytest.mark.parametrize(
    "tree",
    [
        {"loss": {"0": 2.5, "1": 2.0, "2": 1.5}, "val_loss": {"0": 3.0, "1": 2.5, "2": 2.0}},
        {"columns": ["loss", "val_loss"], "index": [0, 1, 2], "data": [[2.5, 3.0], [2.0, 2.5], [1.5, 2.0]]},
    ],
)
def test_tables_that_pandas_wrote_are_lists_by_name(tree: dict[str, object], tmp_path: Path) -> None:
    found = curves(read(tree))
    assert found["loss"][2] == ["2.5", "2.0", "1.5"]
    assert found["val_loss"][2] == ["3.0", "2.5", "2.0"]
    (path := tmp_path / "history.json").write_text(json.dumps(tree))
    assert json_history.sniff(path, path.read_bytes()) >= 0.6


def test_scores_by_class_are_no_table_of_epochs() -> None:
    assert curves(read({"precision": {"0": 0.5, "1": 0.25}, "recall": {"0": 0.75, "1": 0.5}})).keys() == set()


@pytest.mark.parametrize("names", [("train", "val"), ("small", "large")])
def test_lists_by_part_or_model_get_the_metric_that_the_file_is_named_after(
    names: tuple[str, str], tmp_path: Path
) -> None:
    tree = {names[0]: [2.5, 2.0], names[1]: [3.0, 2.5]}
    assert {name: values for name, (_, _, values) in curves(read(tree, "out/loss_history.json")).items()} == {
        f"{names[0]}_loss": ["2.5", "2.0"],
        f"{names[1]}_loss": ["3.0", "2.5"],
    }
    assert set(curves(read(tree, "out/history.json"))) == set(names)
    (path := tmp_path / "losses.json").write_text(json.dumps(tree))
    assert json_history.sniff(path, path.read_bytes()) >= 0.6


def test_a_list_of_counted_objects_is_read_whatever_it_measures(tmp_path: Path) -> None:
    rows = [{"epoch": at, "train_cos": 0.5 + at / 8, "val_cos": 0.25} for at in range(3)]
    (path := tmp_path / "training_history.json").write_text(json.dumps(rows, indent=2))
    assert json_history.sniff(path, path.read_bytes()) >= 0.5
    assert curves(read(rows))["train_cos"] == ("epoch", [0, 1, 2], ["0.5", "0.625", "0.75"])


@pytest.mark.parametrize(
    "tree",
    [
        [{"ep": at, "won": at / 4} for at in range(3)],
        [{"episode": at, "return": at / 4} for at in range(3)],
        {"rounds": [{"round": at, "overall": at / 4, "by_class": [1.0, 2.0]} for at in range(3)]},
    ],
)
def test_counted_objects_may_count_episodes_and_stand_under_a_name(tmp_path: Path, tree: object) -> None:
    (path := tmp_path / "log.json").write_text(json.dumps(tree))
    assert json_history.sniff(path, path.read_bytes()) >= 0.35
    read_curves = curves(read(tree))
    assert ("step", [0, 1, 2], ["0.0", "0.25", "0.5"]) in read_curves.values()


def test_json_lines_are_no_document() -> None:
    lines = b'{"loss": {"a": 1.0}, "note": "x"}\n{"loss": {"a": 0.5}, "note": "y"}\n'
    assert json_history.sniff(Path("gates.jsonl"), lines) == 0.0
    assert json_history.sniff(Path("history.json"), b'{"loss": [1.0,\n 2.0]}\n') > 0.5


def test_a_gap_that_numbers_follow_was_no_evaluation() -> None:
    tree = {"loss": [3.0, 2.0, 1.5, 1.25, 1.0], "val_loss": [3.0, None, 2.0, None, None]}
    assert curves(read(tree))["val_loss"] == ("epoch", [1, 3], ["3.0", "2.0"])
    lost = curves(read({"loss": [3.0, 2.0, None, None]}))
    assert lost["loss"] == ("epoch", [1, 2, 3, 4], ["3.0", "2.0", "nan", "nan"])


def test_histories_of_an_evolution_are_curves() -> None:
    head = json.dumps({"best_fitness": 9.5, "max_fitness_history": [9.0, 9.25, 9.5]}).encode()
    assert json_history.sniff(Path("results.json"), head) > 0.5
    assert curves(read(json.loads(head)))["max_fitness_history"][1] == [1, 2, 3]
