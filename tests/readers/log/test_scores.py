"""Scores and errors that stand on lines of their own, under the names that tasks have for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("MRR : 0.57{}\t", {"MRR": 0.571}),
        ("hits@3 : 0.45{}    ndcg@20 : 0.31{}", {"hits@3": 0.451, "ndcg@20": 0.311}),
        ("kappa: 0.70{}", {"kappa": 0.701}),
        ("mAP: 0.86{}", {"mAP": 0.861}),
        ("Success rate: 12.{}%", {"Success rate": 12.1}),
        ("hit ratio = 0.14{}", {"hit ratio": 0.141}),
        ("avg_fpr: 0.02{}", {"avg_fpr": 0.021}),
        ("train cost 4.6{}", {"train cost": 4.61}),
        ("Prec@1: 18.{}, Prec@5: 68.{}", {"Prec@1": 18.1, "Prec@5": 68.1}),
    ],
)
def test_a_score_that_stands_alone_belongs_to_the_step_before_it(
    line: str, found: dict[str, float], read: Any
) -> None:
    run = read("".join(f"step {at} loss 0.{9 - at}\n{line.replace('{}', str(at))}\n" for at in range(1, 5)))
    assert {key.metric for key in run.series} == {"loss", *found}
    for name, value in found.items():
        assert points(run, name)[0] == (1, pytest.approx(value))
        assert len(points(run, name)) == 4


def test_what_a_dated_heading_names_holds_for_the_line_below(read: Any) -> None:
    stamp = "Mon 02 Mar 2026 07:08:0{}    INFO  "
    log = "".join(
        f"{stamp.format(at)}epoch {at} training [time: 2.10s, train loss: {9 - at}.5]\n"
        f"{stamp.format(at)}valid result: \nrecall@10 : 0.0{at}    mrr@10 : 0.00{at}\n"
        for at in range(1, 5)
    )
    run = read(log)
    assert [value for _, value in points(run, "val_recall@10")] == [0.01, 0.02, 0.03, 0.04]
    assert "Mon" not in {key.metric for key in run.series}


def test_the_error_of_a_field_is_told_once_at_the_end(read: Any) -> None:
    lines = [f"It: {at}, Loss: {1 / (at + 1):.3e}, Loss_f: 1.0e-03\n" for at in range(5)]
    assert points(read("".join(lines) + "Error u: 2.5e-01\n"), "Error u") == [(4, 0.25)]


def test_what_a_judge_says_of_fakes_before_and_after_a_step_are_two_values(read: Any) -> None:
    line = "[0/5][{0}0/90]\tLoss_D: 1.{0}\tLoss_G: 0.6\tD(x): 0.9{0}\tD(G(z)): 0.1{0} / 0.2{0}\n"
    run = read("".join(line.format(at) for at in range(1, 5)))
    assert [value for _, value in points(run, "D(G(z))")] == [0.11, 0.12, 0.13, 0.14]
    assert [value for _, value in points(run, "D(G(z)) after")] == [0.21, 0.22, 0.23, 0.24]
    assert [value for _, value in points(run, "D(x)")] == [0.91, 0.92, 0.93, 0.94]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: 4 of 5 launches failed after 3.2 s",
        "heatmap 3 x 4.5 written",
        "map of 12.5 MB loaded",
        "the success of try 3 took 4.5 s",
    ],
)
def test_words_in_sentences_are_no_scores(line: str, read: Any) -> None:
    run = read("".join(f"step {at} loss 0.5\n{line}\n" for at in range(1, 5)))
    assert {key.metric for key in run.series} == {"loss"}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Loss epoch {} | train 0.{} | test 0.{}", ("train loss", "test loss")),
        ("loss step {} - training 0.{} val 0.{}", ("training loss", "val loss")),
    ],
)
def test_a_subject_before_the_counter_is_what_the_sides_are_the_values_of(
    line: str, names: tuple[str, str], read: Any
) -> None:
    run = read("".join(line.format(at, 9 - at, 8 - at) + "\n" for at in range(1, 6)))
    assert {key.metric for key in run.series} == {*names}
    assert points(run, names[0])[0] == (1, pytest.approx(0.8))
    assert points(run, names[1])[-1] == (5, pytest.approx(0.3))


def test_a_counter_behind_a_point_is_one(read: Any) -> None:
    run = read("".join(f"---Epoch.{at} Train loss: 0.{9 - at}.\n" for at in range(5)))
    assert points(run, "Train loss") == [(at, pytest.approx((9 - at) / 10)) for at in range(5)]


@pytest.mark.parametrize("heading", ["Test set", "Testing:", "TEST SET"])
def test_a_heading_says_which_set_an_evaluation_below_it_is_of(read: Any, heading: str) -> None:
    run = read(
        "".join(
            f"Batch[{at}] - loss: 0.{9 - at}  acc: 5{at}.0\nEvaluation - loss: 0.1{at}  acc: 6{at}.0\n"
            f"{heading}\nEvaluation - loss: 0.2{at}  acc: 7{at}.0\n"
            for at in range(1, 5)
        )
    )
    assert [value for _, value in points(run, "val_loss")] == [0.11, 0.12, 0.13, 0.14]
    assert points(run, "test_loss") == [(1, 0.21), (2, 0.22), (3, 0.23), (4, 0.24)]
    assert [step for step, _ in points(run, "loss")] == [1, 2, 3, 4]


def test_an_accuracy_of_the_first_answers_that_stands_once_behind_a_training_is_read(read: Any) -> None:
    run = read("Epoch 1 loss 0.5\nEpoch 2 loss 0.4\nLSTM accuracy (Top-1): 59.98%\n")
    assert points(run, "LSTM accuracy (Top-1)") == [(2, 59.98)]
