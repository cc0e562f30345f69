"""hrmdoc.readers.csv: whose values a table holds, by its columns, its labels and the name of its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hrmdoc.readers import csv, discover, read_into
from hrmdoc.record.records import Points
from hrmdoc.record.run import Run
from tests.readers.feeding import curves
from tests.readers.test_csv import read


@pytest.mark.parametrize("cuts", [(), (20,), (7, 41, 60)])
def test_rows_of_training_and_evaluation_in_one_table_are_told_apart(cuts: tuple[int, ...]) -> None:
    found = curves(read("epoch,phase,loss\n1,train,2.0\n1,val,2.5\n2,train,1.0\n2,val,nan\n", cuts))
    assert found["loss"] == [(1, "2.0"), (2, "1.0")]
    assert found["eval/loss"] == [(1, "2.5"), (2, "nan")]


def test_a_row_may_name_the_metric_of_its_value() -> None:
    found = curves(read("step,metric,value\n1,train_loss,2.0\n1,val_loss,2.5\n2,train_loss,1.0\n"))
    assert found["train_loss"] == [(1, "2.0"), (2, "1.0")]
    assert found["val_loss"] == [(1, "2.5")]


def test_the_download_of_tensorboard_has_the_metric_in_its_name() -> None:
    found = curves(
        read(
            "Wall time,Step,Value\n1600000000.5,10,2.0\n1600000001.5,20,1.0\n",
            path="run-a-tag-train_loss.csv",
        )
    )
    assert found["train_loss"] == [(10, "2.0"), (20, "1.0")]


def test_the_monitor_of_an_environment_abbreviates() -> None:
    text = '#{"t_start": 1600000000.1, "env_id": "CartPole-v1"}\nr,l,t\n20.0,20,0.5\n31.0,31,0.9\n'
    assert csv.sniff(Path("0.monitor.csv"), text.encode()) > 0.5
    assert curves(read(text, path="0.monitor.csv"))["episode_reward"] == [(0, "20.0"), (1, "31.0")]


def test_older_monitors_leave_a_blank_before_what_they_say_of_themselves() -> None:
    text = '# {"env_id": "HalfCheetah-v2", "t_start": 1550000000.1}\nr,l,t\n-20.5,1000,1.5\n-18.0,1000,2.5\n'
    assert csv.sniff(Path("0.monitor.csv"), text.encode()) > 0.5
    assert curves(read(text, path="0.monitor.csv"))["episode_reward"] == [(0, "-20.5"), (1, "-18.0")]


def test_a_column_of_numbers_has_the_name_of_its_file_where_that_is_a_metric() -> None:
    text = "2.5\n2.0\n1.5\n1.25\n"
    assert csv.sniff(Path("notes.txt"), text.encode()) == 0
    assert csv.sniff(Path("train_loss.txt"), text.encode()) > 0
    assert curves(read(text, path="train_loss.txt"))["train_loss"] == [
        (0, "2.5"),
        (1, "2.0"),
        (2, "1.5"),
        (3, "1.25"),
    ]
    assert "col1" in curves(read(text, path="numbers.csv"))


def test_the_losses_of_a_detector_are_summed_where_their_whole_is_not_logged() -> None:
    assert not [
        name for name in curves(read("step,train/actor_loss,train/critic_loss\n1,0.5,2\n")) if "+" in name
    ]
    found = curves(
        read("epoch,train/box_loss,val/box_loss,val/cls_loss\n1,1.0,0.5,2.0\n2,0.9,nan,1.0\n3,0.8,0.25,1.5\n")
    )
    assert found["val/box+cls_loss"] == [(1, "2.5"), (2, "nan"), (3, "1.75")]
    assert "train/box_loss" in found
    assert not [name for name in found if name.startswith("train/box+")]


@pytest.mark.parametrize(
    "text",
    [
        "epoch,loss,val_loss\n1,3,3\n2,2,2\n3,1,1\n4,,1\n",  # one row only
        "epoch,loss,accuracy\n1,3,0.1\n2,2,0.2\n3,1,0.3\n4,,\n5,,\n",  # nothing goes on
        "epoch,loss,lr\n1,3,0.1\n2,2,0.1\n3,1,0.1\n4,,0.1\n5,,0.1\n6,1,0.1\n",  # it comes back
        "step,train_loss,val_loss\n1,3,\n2,2,\n3,1,\n3,,2\n4,,2\n",  # rows of the evaluation
        "epoch,loss,test_loss,acc\n1,3,,0.1\n2,2,,0.2\n3,1,,0.3\n",  # never logged
    ],
)
def test_empty_cells_alone_are_no_nan(text: str) -> None:
    assert "nan" not in str(curves(read(text)))


@pytest.mark.parametrize("cuts", [(), (30,), (25, 52, 60)])
def test_a_loss_that_vanishes_while_the_rest_goes_on_has_become_nan(cuts: tuple[int, ...]) -> None:
    found = curves(read(",loss,accuracy\n0,2.3,0.2\n1,2.2,0.3\n2,9.1,0.2\n3,,0.1\n4,,0.1\n", cuts))
    assert found["loss"] == [(0, "2.3"), (1, "2.2"), (2, "9.1"), (3, "nan")]
    assert "nan" not in str(found["accuracy"])
    never = curves(read(",loss,accuracy,val_loss\n0,,0.1,\n1,,0.1,\n2,,0.1,\n", cuts))
    assert never["loss"] == [(0, "nan")]
    assert "val_loss" not in never


@pytest.mark.parametrize(
    "header", [",0", "Unnamed: 0,0", "step,value", "index,Values", "x,y", "iteration,loss"]
)
def test_one_column_without_a_name_is_the_metric_that_the_file_is_named_after(header: str) -> None:
    found = curves(read(f"{header}\n0,2.9\n5,2.75\n10,2.5\n", path="out/loss.csv"))
    assert found["loss"] == [(0, "2.9"), (5, "2.75"), (10, "2.5")]


def test_columns_of_a_file_that_names_no_metric_and_several_columns_stay_without_a_name() -> None:
    assert list(curves(read(",0\n0,2.9\n1,2.75\n", path="weights.csv"))) == ["col1", "col2"]
    assert "loss" not in curves(read(",0,1\n0,2.9,1\n1,2.75,2\n", path="loss.csv"))


def test_a_table_of_numbers_alone_that_counts_from_its_start_holds_the_metric_of_its_name() -> None:
    assert curves(read("0,2.9\n1,2.75\n2,2.5\n", path="val_loss.csv"))["val_loss"] == [
        (0, "2.9"),
        (1, "2.75"),
        (2, "2.5"),
    ]
    assert list(curves(read("2.9,3.1\n2.75,3\n", path="loss.csv"))) == ["col1", "col2"]


def test_a_list_that_pandas_wrote_is_headed_by_a_zero_that_is_no_value() -> None:
    assert [
        value for _, value in curves(read("0\n2.9\n2.75\n", path="loss_history.csv"))["loss_history"]
    ] == ["2.9", "2.75"]


def test_a_single_column_under_the_name_of_a_metric_is_read(tmp_path: Path) -> None:
    (path := tmp_path / "run.csv").write_text("loss\n2.9\n2.75\n2.5\n")
    assert csv.sniff(path, path.read_bytes()) > 0.5
    (other := tmp_path / "words.csv").write_text("loss\nof words\nand more\nand more\n")
    assert csv.sniff(other, other.read_bytes()) == 0


@pytest.mark.parametrize("kind", ["fold", "Model", "seed"])
def test_rows_of_several_runs_are_kept_apart_by_the_column_that_names_them(kind: str) -> None:
    text = f"{kind},epoch,loss\n1,0,2.5\n2,0,2.0\n1,1,2.25\n2,1,1.5\n"
    for cuts in ((), (20, 31)):
        points = [r for r in read(text, cuts) if isinstance(r, Points) and r.metric == "loss"]
        found = {
            source: [v for p in points if p.source == source for v in p.values.tolist()]
            for source in (p.source for p in points)
        }
        assert found == {"metrics.csv#1": [2.5, 2.25], "metrics.csv#2": [2.0, 1.5]}


def test_runs_may_have_words_for_names_and_a_table_that_counts_nothing_is_one() -> None:
    found = [
        r for r in read("arch,epoch,loss\nsmall,0,2.5\nlarge,0,2.0\nsmall,1,2.25\n") if isinstance(r, Points)
    ]
    assert {p.source: p.values.tolist() for p in found if p.metric == "loss"} == {
        "metrics.csv#small": [2.5, 2.25],
        "metrics.csv#large": [2.0],
    }
    assert curves(read("trial,loss\n1,2.5\n2,2.0\n"))["loss"] == [(0, "2.5"), (1, "2.0")]


def test_the_folders_of_dvclive_are_part_of_the_name(tmp_path: Path) -> None:
    for name in ("train/loss", "eval/loss", "lr"):
        path = tmp_path / f"dvclive/plots/metrics/{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"step\t{name.rpartition('/')[2]}\n0\t1.0\n1\tnan\n2\tnan\n")
    run = Run()
    read_into(run, discover(tmp_path))
    assert {key.metric: len(series) for key, series in run.series.items()} == {
        "train/loss": 3,
        "eval/loss": 3,
        "lr": 3,
    }


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("loss_log.txt", ["1,6.25", "2,5.5", "3,5.25", "4,5.0"], {"loss_log": [6.25, 5.5, 5.25, 5.0]}),
        ("net_loss.txt", ["100 6.5", "200 2.5", "300 7.0", "400 1.5"], {"net_loss": [6.5, 2.5, 7.0, 1.5]}),
        (
            "train_log.txt",
            ["total loss\tclass loss\t", "4.5\t0.5\t", "4.25\t0.25\t", "4.0\t0.25\t"],
            {"total loss": [4.5, 4.25, 4.0], "class loss": [0.5, 0.25, 0.25]},
        ),
        (
            "evolution.csv",
            ["Generation,Best_Fitness", "1,10.5", "2,11.5", "3,12.5"],
            {"Best_Fitness": [10.5, 11.5, 12.5]},
        ),
        (
            "envs.csv",
            ["timesteps,reward", "4,[0.25 0.75]", "8,[0.5 1.5]", "12,[1. nan]"],
            {"reward": [0.5, 1.0, float("nan")]},
        ),
        (
            "printed.csv",
            ["step,loss", "1,\"tensor(2.5, device='cuda:0')\"", "2,tensor(2.25)", "3,np.float32(2.0)"],
            {"loss": [2.5, 2.25, 2.0]},
        ),
    ],
)
def test_tables_that_programs_write_by_hand(
    tmp_path: Path, name: str, lines: list[str], expected: dict[str, list[float]]
) -> None:
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    run = Run()
    read_into(run, discover(tmp_path))
    found = {key.metric: series.values.tolist() for key, series in run.series.items()}
    assert str(found) == str(expected)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("notes.txt", ["width\theight", "3\t4", "5\t6", "7\t8"]),
        ("points.txt", ["1 6.5", "2 2.5", "3 7.0", "4 1.5"]),
        ("loss_notes.txt", ["1 6.5", "2.5 2.5", "a b", "4 1.5"]),
    ],
)
def test_numbers_that_nothing_names_are_no_table_of_a_run(name: str, lines: list[str]) -> None:
    assert csv.sniff(Path(name), ("\n".join(lines) + "\n").encode()) == 0.0


def test_numbers_that_pandas_gives_columns_without_names_are_no_row() -> None:
    found = curves(read("0,1,2\n1,0.69,1.38\n2,0.68,1.36\n3,0.67,1.35\n", path="numbers.csv"))
    assert [value for _, value in found["col2"]] == ["0.69", "0.68", "0.67"]
    assert len(curves(read("0,1,2.5\n1,0.69,1.38\n", path="numbers.csv"))["col2"]) == 2


def test_the_table_that_caffe_makes_of_a_log_counts_its_iterations(tmp_path: Path) -> None:
    rows = "".join(f"{n}000.0,{n * 25},0.01,0.8{n},1.{n}\n" for n in range(9))
    table = tmp_path / "caffe.log.test"
    table.write_text(f"NumIters,Seconds,LearningRate,accuracy,loss\n{rows}")
    run = Run()
    read_into(run, discover(table))
    series = next(one for one in run.series.values() if one.key.metric == "test/loss")
    assert (series.axis, series.steps.tolist()) == ("step", [n * 1000 for n in range(9)])
