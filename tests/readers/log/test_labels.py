"""Numbers that belong to a name: which loss, which task, the best of how many."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


@pytest.mark.parametrize(
    ("line", "curves"),
    [
        ("epoch {0}, loss 1: 0.{0}, loss 2: 0.9", {"loss 1": 0.3, "loss 2": 0.9}),
        ("epoch {0} loss 1 = 0.{0}", {"loss 1": 0.3}),
        ("epoch {0}: task 1 loss: 0.{0}, task 2 loss: 0.8", {"task 1 loss": 0.3, "task 2 loss": 0.8}),
        ("epoch {0}, head 0: loss 0.{0}", {"head 0 loss": 0.3}),
        (
            "episode {0} agent 0 reward 12.{0} agent 1 reward 3.0",
            {"agent 0 reward": 12.3, "agent 1 reward": 3.0},
        ),
        (
            "epoch {0}/9, val top 1 acc: 0.{0} val top 5 acc: 0.7",
            {"val top 1 acc": 0.3, "val top 5 acc": 0.7},
        ),
    ],
)
def test_a_number_between_a_name_and_its_value_is_part_of_the_name(
    read: Any, line: str, curves: dict[str, float]
) -> None:
    run = read("".join(line.format(at) + "\n" for at in range(1, 4)))
    assert {
        series.key.metric: points(run, series.key.metric)[-1][1] for series in run.series.values()
    } == curves


def test_one_name_with_numbers_of_its_own_on_lines_of_one_form_is_several_curves(read: Any) -> None:
    run = read(
        "".join(f"Epoch: {epoch}/5, top {k} acc: 0.{k}{epoch}\n" for epoch in (1, 2, 3) for k in (1, 5))
    )
    assert points(run, "top 1 acc") == [(1, 0.11), (2, 0.12), (3, 0.13)]
    assert points(run, "top 5 acc") == [(1, 0.51), (2, 0.52), (3, 0.53)]


def test_a_long_number_before_the_value_counts_something_and_names_nothing(read: Any) -> None:
    run = read("".join(f"epoch 1, loss {step}: 0.{step}\n" for step in range(100, 400, 100)))
    assert {series.key.metric for series in run.series.values()} == {"loss"}
    assert [value for _, value in points(run, "loss")] == [0.1, 0.2, 0.3]


def test_a_value_that_another_name_follows_stays_a_value(read: Any) -> None:
    run = read("".join(f"epoch {at} loss 1 acc 0.5, lr: 1\n" for at in range(1, 4)))
    assert {series.key.metric for series in run.series.values()} == {"loss", "acc", "lr"}


@pytest.mark.parametrize(
    ("line", "name", "step"),
    [
        ("Loss after {0}00 iterations: 0.{0}", "Loss", 300),
        ("Cost after iteration {0}00: 0.{0}", "Cost", 300),
        ("train loss after epoch {0}: 0.{0}", "train loss", 3),
        ("epoch {0}: mean loss over the last 50 batches: 0.{0}", "mean loss", 3),
        ("it={0}00 loss=0.{0}", "loss", 300),
        ("Loss {0}0: 0.{0}", "Loss", 30),
    ],
)
def test_how_many_stands_between_the_name_and_the_value(read: Any, line: str, name: str, step: int) -> None:
    run = read("".join(line.format(at) + "\n" for at in range(1, 4)))
    assert {series.key.metric for series in run.series.values()} == {name}
    assert points(run, name)[-1] == (step, 0.3)


def test_two_letters_for_training_and_test_beside_each_other_name_the_split(read: Any) -> None:
    run = read("".join(f"Ep {at} TrLoss 0.{at} TrAcc 0.8 TeLoss 0.5 TeAcc 0.7\n" for at in range(1, 4)))
    assert {series.key.metric for series in run.series.values()} == {
        "train_Loss",
        "train_Acc",
        "test_Loss",
        "test_Acc",
    }


def test_one_of_the_letters_alone_names_nothing(read: Any) -> None:
    run = read("".join(f"Ep {at} TeLoss 0.{at} VaAcc 0.8\n" for at in range(1, 4)))
    assert {series.key.metric for series in run.series.values()} == {"TeLoss", "VaAcc"}


def test_two_splits_without_a_loss_beside_them_may_be_anything(read: Any) -> None:
    run = read(
        "".join(
            f"[eval] iter {at}00: train 9.{at} val 9.8\n[train] iter {at}00: loss 7.{at}\n"
            for at in range(1, 4)
        )
    )
    assert not {series.role.role for series in run.series.values()} & {"eval.accuracy", "train.accuracy"}


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("{'eval_loss': nan, 'eval_runtime': 14.8, 'eval_samples_per_second': 17.5}\n", "eval_loss"),
        ("{'loss': 0.0, 'grad_norm': nan}\n", "grad_norm"),
    ],
)
def test_one_record_that_only_a_trainer_prints_is_believed(read: Any, text: str, metric: str) -> None:
    assert metric in {series.key.metric for series in read(text).series.values()}
    assert not read(text.replace("loss", "cost").replace("grad_norm", "size").replace("eval_", "")).series


def test_all_scores_of_a_line_belong_to_the_class_that_it_begins_with(read: Any) -> None:
    run = read(
        "".join(
            f"Epoch {epoch}\n"
            + "".join(f"Label: {one}\tPrec: 6{one}.{epoch}%  Recall: 7{one}.{epoch}%\n" for one in (0, 1))
            for epoch in (1, 2, 3)
        )
    )
    assert points(run, "Label 1 Recall") == [(1, 71.1), (2, 71.2), (3, 71.3)]
    assert {key.metric for key in run.series} == {
        f"Label {one} {name}" for one in (0, 1) for name in ("Prec", "Recall")
    }


def test_what_stands_behind_two_labels_belongs_to_neither(read: Any) -> None:
    run = read(
        "".join(f"epoch {e} task 1 loss 0.{e} task 2 loss 0.{e} total loss 0.{e}\n" for e in (1, 2, 3))
    )
    assert [step for step, _ in points(run, "total loss")] == [1, 2, 3]
