"""Whose the values of a line are, the training's or an evaluation's, where it is said once or behind them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points


def test_a_side_may_stand_behind_its_value(read: Any) -> None:
    line = "epoch {0} | loss 0.5{0} (train), 0.2{0} (dev) | error 0.3{0} (train), 0.4{0} (dev)\n"
    run = read("".join(map(line.format, (1, 2, 3))))
    found = {key.metric: points(run, key.metric)[0] for key in run.series}
    assert found == {
        "train loss": (1, 0.51),
        "dev loss": (1, 0.21),
        "train error": (1, 0.31),
        "dev error": (1, 0.41),
    }


def test_a_side_behind_a_counter_is_of_the_whole_line(read: Any) -> None:
    run = read("".join(f"Epoch {n} (train) loss: 0.{n}\nEpoch {n} (val) loss: 0.3{n}\n" for n in (1, 2, 3)))
    assert points(run, "val_loss") == [(1, 0.31), (2, 0.32), (3, 0.33)]


def test_an_entropy_behind_a_validation_loss_is_of_the_validation(read: Any) -> None:
    line = (
        "---Epoch.{0} {1} Negative Log-Loss per event: 0.{0}; Cross-Entropy per event: 0.5{0}; time: 3.{0}\n"
    )
    run = read("".join(line.format(n, side) for n in (1, 2, 3) for side in ("Train", "Val")))
    assert len(points(run, "Cross-Entropy per event")) == len(points(run, "val_Cross-Entropy per event")) == 3


def test_scores_behind_the_test_s_are_the_test_s_where_the_training_s_stand_before(read: Any) -> None:
    line = "Epoch {0} | Loss: 0.{0} | Train F1: 0.5 | Test F1: 0.4 | PR-AUC: 0.3{0} | ROC-AUC: 0.8{0}\n"
    run = read("".join(map(line.format, (1, 2, 3))))
    assert {key.metric for key in run.series} == {
        "Loss",
        "Train F1",
        "Test F1",
        "test_PR-AUC",
        "test_ROC-AUC",
    }


def test_of_means_that_are_told_behind_each_sample_the_last_is_the_evaluation(read: Any) -> None:
    line = "Sample: {0}, Validation pixAcc: 0.{1}{0}, mIoU: 0.{1}{0}\n"
    log = "".join(
        f"Iters: {n}0/30 || Loss: 0.{n}\n" + "".join(line.format(at, n) for at in range(1, 10))
        for n in (1, 2, 3)
    )
    run = read(log)
    assert points(run, "Validation pixAcc") == points(run, "val_mIoU") == [(10, 0.19), (20, 0.29), (30, 0.39)]
    assert {key.metric for key in run.series} == {"Loss", "Validation pixAcc", "val_mIoU"}
    assert len(points(read("".join(f"Sample: {n}, loss: 0.{n}\n" for n in (1, 2, 3))), "loss")) == 3


def test_a_misspelled_validation_is_one(read: Any) -> None:
    run = read("".join(f"epoch {n} vaildation - loss: 0.{n}\n" for n in range(1, 5)))
    assert points(run, "val_loss") == [(n, n / 10) for n in range(1, 5)]


def test_scores_behind_a_hash_below_a_dataset_s_name_are_the_validation_s(read: Any) -> None:
    line = (
        "[epoch: {0}, iter: {0},000, lr:(2.0e-04,)] l_pix: 5.{0}e-03\n"
        "Validation Urban\n\t # psnr: 2{0}.1\tBest: 2{0}.1 @ {0}000 iter\n\t # ssim: 0.7{0}\n\n"
    )
    run = read("".join(map(line.format, range(1, 6))))
    assert points(run, "val psnr") == [(n * 1000, 20.1 + n) for n in range(1, 6)]
    assert {key.metric for key in run.series} == {"lr", "l_pix", "val psnr", "val ssim"}


def test_a_score_behind_a_heading_on_its_line_is_of_the_side_that_it_names(read: Any) -> None:
    line = "<epoch: {0}, iter: {0},000, lr:1.0e-04> l_pix: 5.{0}e-03\n# Validation # PSNR: 2.{0}5e+01\n"
    run = read("".join(map(line.format, range(1, 6))))
    assert points(run, "val_PSNR") == [(n * 1000, 20.5 + n) for n in range(1, 6)]


def test_a_report_of_conlleval_is_of_the_part_named_above_it_and_its_classes_are_none_of_it(
    read: Any,
) -> None:
    stamp = "2026-01-02 03:04:05,678 - log\\train.log - INFO - "
    report = (
        "{0}evaluate:{1}\n{0}processed 742 tokens with 56 phrases; found: 54 phrases; correct: 0.\n\n"
        "{0}accuracy:  9{2}.40%; precision:  8{2}.10%; recall:  7{2}.20%; FB1:  6{2}.30\n\n"
        "{0}           TREE: precision:  11.00%; recall:  12.00%; FB1:  13.00  219\n\n"
    )
    step = "{0}iteration:{1} step:50/90, NER loss:  {1}.500000\n"
    opening = f"{stamp}lr             :\t0.001\n{stamp}batch_size     :\t20\n"
    run = read(
        opening
        + "".join(
            step.format(stamp, n) + report.format(stamp, "dev", n) + report.format(stamp, "test", n)
            for n in range(1, 6)
        )
    )
    for side in ("dev", "test"):
        assert [value for _, value in points(run, f"{side}_FB1")] == [61.3, 62.3, 63.3, 64.3, 65.3]
    assert "FB1" not in run.metrics
    assert len(points(run, "NER loss")) == 5
    assert run.facts["config", "lr"].value == 0.001


def _quickstart(epochs: int, head: str) -> str:
    """What the loop of PyTorch's quickstart prints, 500 batches of 64, each hundredth."""
    batches = "".join(f"loss: 2.3{batch}0000  [{6400 * batch + 64:>5d}/32000]\n" for batch in range(5))
    end = "Test Error: \n Accuracy: 10.0%, Avg loss: 2.303538 \n\n"
    return "".join(head.format(number) + batches + end for number in range(1, epochs + 1))


@pytest.mark.parametrize("head", ["Epoch {}\n-------------------------------\n", ""])
def test_a_heading_of_a_test_holds_until_a_loss_stands_at_its_place_in_the_epoch(
    read: Any, head: str
) -> None:
    run = read(_quickstart(3, head))
    losses = points(run, "loss")
    assert len(losses) == 15
    assert [step - losses[0][0] for step, _ in losses] == [
        32000 * epoch + 6400 * batch for epoch in range(3) for batch in range(5)
    ]
    assert [len(points(run, name)) for name in ("test_Accuracy", "test_Avg loss")] == [3, 3]
    assert not points(run, "test_loss")


def test_a_place_that_is_torn_off_is_none(read: Any) -> None:
    run = read(_quickstart(2, "") + "loss: 2.2  [  64/")
    assert len(points(run, "loss")) == 10


def test_how_many_were_right_in_brackets_behind_an_accuracy_is_no_place(read: Any) -> None:
    run = read("".join(f"Epoch {n}\naccuracy: 0.9{n} [9{n}/100]\n" for n in (1, 2, 3)))
    assert points(run, "accuracy") == [(1, 0.91), (2, 0.92), (3, 0.93)]
