"""Curves that are printed whole, and short pastes that tell everything once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.readers.log.metrics import axis, points


@pytest.mark.parametrize(
    "log",
    [
        "loss_weights = [0.5, 0.25, 0.25, 1.0]\nbetas: [0.9, 0.95, 0.98, 0.99]\n",  # settings
        "loss: [0.69, 0.51]\nloss: [0.68, 0.53]\n",  # what one step gave
        "score: ['a', 'b', 'c', 'd']\nlosses: [1.0, two, 3.0, 4.0]\n",
        "the loss went down, then up again\n12 34\n",
        "loss per line number\n1\n2\n3\n4\n5\n",
        "accuracy and loss of each epoch:\n0.5\n0.6\n0.7\n0.8\n",  # two names, and nobody knows whose they are
        "validation loss:\n0.5\n0.4\n0.45\n",  # three
    ],
)
def test_other_lists_are_no_curves(read: Any, log: str) -> None:
    assert read(log).points == 0


def test_lists_with_the_names_of_results_are_curves_of_epochs(read: Any) -> None:
    run = read(
        "train_losses = [2.5, 2.25, nan, 0.0]\n{'val_loss': [2.5, 2.0, 1.5, 1.0], 'lr': [0.1, 0.1, 0.01, 0.01]}\n"
    )
    assert repr(points(run, "train_losses")) == "[(0, 2.5), (1, 2.25), (2, nan), (3, 0.0)]"
    assert points(run, "val_loss") == [(0, 2.5), (1, 2.0), (2, 1.5), (3, 1.0)]
    assert axis(run, "val_loss") == "epoch"
    assert {key.metric for key in run.series} == {"train_losses", "val_loss"}


def test_a_list_that_grows_is_read_once_and_one_that_changes_is_none(read: Any) -> None:
    grows = read("".join(f"val_losses: {[4 - i for i in range(n)]}\n" for n in range(2, 6)))
    assert points(grows, "val_losses") == [(0, 4.0), (1, 3.0), (2, 2.0), (3, 1.0), (4, 0.0)]
    assert read("batch losses: [1.0, 2.0, 3.0, 4.0]\nbatch losses: [1.5, 2.5, 3.5, 4.5]\n").points == 0


def test_a_list_beside_the_same_measure_point_by_point_is_not_read_again(read: Any) -> None:
    run = read("".join(f"epoch {i} loss: {4 - i}.5\n" for i in range(4)) + "loss = [4.5, 3.5, 2.5, 1.5]\n")
    assert points(run, "loss") == [(0, 4.5), (1, 3.5), (2, 2.5), (3, 1.5)]


def test_tensors_and_arrays_in_a_list_are_numbers(read: Any) -> None:
    run = read(
        "losses: [tensor(2.5), tensor(2.0), tensor(nan), tensor(nan)]\nval_acc = array([0.5, 0.25, 0.5, 0.75])\n"
    )
    assert [value for _, value in points(run, "losses")][:2] == [2.5, 2.0]
    assert points(run, "val_acc")[3] == (3, 0.75)


@pytest.mark.parametrize(
    "heading", ["Validation losses of the first epochs", "各个epoch的valloss如下：", "my val_loss:"]
)
def test_numbers_alone_below_a_heading_are_its_curve(read: Any, heading: str) -> None:
    run = read(f"{heading}\n2.5\n\n41.25,\n2.0\nnan\n1.5\nThat is all.\n7.5\n")
    (key,) = run.series
    assert key.metric.replace("_", "").replace(" ", "").startswith("val")
    assert repr(points(run, key.metric)) == "[(0, 2.5), (1, 41.25), (2, 2.0), (3, nan), (4, 1.5)]"


def test_any_cut_of_a_column_gives_the_same(read: Any) -> None:
    log = "validation loss\n2.5\n41.25\n2.0\n1.75\nlosses = [1.5, 2.5, 3.5, 4.5]\n"
    for cut in range(len(log)):
        run = read(log, cuts=[cut])
        assert len(points(run, "validation loss")) == len(points(run, "losses")) == 4


def test_a_history_over_many_lines_gives_no_single_values(read: Any) -> None:
    run = read(
        "".join(f"Epoch {e}/3: Loss = 0.{9 - e}, Accuracy = 0.{e}\n" for e in (1, 2, 3))
        + "{'loss': [0.8,\n  0.7,\n  0.6],\n 'accuracy': [0.1,\n  0.2,\n  0.3]}\n"
    )
    assert {key.metric for key in run.series} == {"Loss", "Accuracy"}
    assert ("run", "run.framework") not in run.facts


def test_rows_of_one_record_that_have_more_to_say_are_read_where_they_stand(read: Any) -> None:
    rows = [f'{{"games": {n}, "accuracy": 0.{n}}}' for n in range(1, 8)]
    rows[0] = '{"games": 1, "accuracy": 0.1, "first": 1}'
    rows[6] = '{"games": 7, "accuracy": 0.7, "guard": {"p": 0.1}}'
    run = read("\n".join(rows) + "\n")
    assert [value for _, value in points(run, "accuracy")] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert [value for _, value in points(run, "guard/p")] == [0.1]


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("Episode {0} | Rewards: [-{0}.5 -2.5]\n", "Rewards", [-2.0, -2.5, -3.0, -3.5]),
        ("Step: {0} \tTraining acc: [0.5 0.{0} 0.75 0.9 1. ]\n", "Training acc", [0.65, 0.67, 0.69, 0.71]),
        ("epoch {0} train_acc [8{0}.0, 85.0]\n", "train_acc", [83.0, 83.5, 84.0, 84.5]),
        ("Episode {0} Returns: [nan, 2.0]\n", "Returns", [math.nan] * 4),
        ("step {0} loss: [0.{0}, 0.9]\n", "loss", [0.1, 0.2, 0.3, 0.4]),  # the first is the whole
        ("[{0},  200] loss: 0.{0}\n", "loss", [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_what_each_of_some_got_in_a_step_counts_as_its_mean(
    read: Any, line: str, name: str, values: list[float]
) -> None:
    run = read("".join(line.format(n) for n in range(1, 5)))
    assert [value for _, value in points(run, name)] == pytest.approx(values, nan_ok=True)
    assert {key.metric for key in run.series} == {name}
