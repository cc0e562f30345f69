from __future__ import annotations

import math
from typing import Any

import pytest

from tests.readers.log.metrics import axis, points


def test_keras_redraws_that_lost_what_parts_them_give_one_record_an_epoch(read: Any) -> None:
    drawn = "2/2 [====] - ETA: 0s - loss: 0.{0} - mae: 0.46"
    log = "".join(
        f"Epoch {n}/3\n1/2 [==>.] - ETA: 1s - loss: 0.95{drawn.format(n)}{drawn.format(n)} - val_loss: 0.{n}\n"
        for n in (1, 2, 3)
    )
    run = read(log)
    assert points(run, "loss") == points(run, "val_loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert points(run, "mae") == [(1, 0.46), (2, 0.46), (3, 0.46)]


def test_keras_redraws_cut_out_of_an_epoch_give_one_record_a_batch(read: Any) -> None:
    bar = "  3/234 [..............] - ETA: 33:37:24 - loss: 44.5\n  4/234 [..............] - ETA: 25:09:00 - loss: "
    assert points(read(bar + "50.5\n" + bar + "inf\n"), "loss") == [(3, 44.5), (4, math.inf)]
    whole = "234/234 [==============================] - 9s 4ms/step - loss: 0.5\n"
    assert [value for _, value in points(read(bar + "50.5\n" + whole), "loss")] == [0.5], (
        "a finished bar tells the whole epoch"
    )


def test_keras_redraws_give_one_record_an_epoch(read: Any) -> None:
    log = (
        "Epoch 1/2\n\r\x1b[1m1/6\x1b[0m \x1b[32m━━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m0s\x1b[0m"
        " 19ms/step - accuracy: 0.3 - loss: 1.02"
        "\b\b\b\b\r\x1b[1m6/6\x1b[0m ━━━━━━━ 0s 16ms/step - accuracy: 0.5 - loss: 0.81 - val_loss: 1.07\nEpoch 2/2\n"
        " 32/96 [=====>........] - ETA: 1:02 - loss: 0.9\r96/96 - 0s - 12ms/step - accuracy: 0.6 - loss: 0.80 - val_loss: nan\n"
    )
    run = read(log)
    assert points(run, "loss") == [(1, 0.81), (2, 0.8)]
    assert math.isnan(points(run, "val_loss")[1][1])
    assert run.facts["run", "run.framework"].value == "keras"


def test_ultralytics_rows_take_the_last_redraw_and_the_line_for_all_classes(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "\r        1/3      2.61G      1.20      1.398         81        640:  50%|█████     | 1/2 [00:00<00:01,  1.2it/s]"
        "\r        1/3      2.61G      1.15      1.398         81        640: 100%|██████████| 2/2 [00:01<00:00,  1.2it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|████|"
        " 4/4 [00:00<00:00, 10.0it/s]\n"
        "                   all        128        929      0.676      0.527      0.605      0.446\n"
    )
    run = read(log)
    assert points(run, "box_loss") == [(1, 1.15)]
    assert points(run, "metrics/mAP50") == [(1, 0.605)]


def test_ultralytics_own_bar_is_read_as_the_one_of_tqdm(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
        "\r\x1b[K        1/3      2.61G      1.31      1.412         81        640: 0% ──────────── 0/2  0.4s"
        "\r\x1b[K        1/3      2.61G      1.20      1.398         81        640: 50% ━━━━━━────── 1/2 1.7s/it 1.0s<1.7s"
        "\r\x1b[K        1/3      2.61G      1.15      1.398         81        640: 100% ━━━━━━━━━━━━ 2/2 1.2it/s 1.6s\n"
        "\r\x1b[K                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100% ━━━━━━━━━━━━"
        " 4/4 10.0it/s 0.4s\n"
        "                   all        128        929      0.676      0.527      0.605      0.446\n"
    )
    run = read(log)
    assert points(run, "box_loss") == [(1, 1.15)]
    assert points(run, "metrics/mAP50") == [(1, 0.605)]
    assert not points(run, "it/s"), "the rate of a bar is no metric"


def test_the_accuracies_of_an_ultralytics_classifier_are_read(read: Any) -> None:
    log = (
        "      Epoch    GPU_mem       loss  Instances       Size\n"
        "\r\x1b[K        1/3      2.61G     0.7282          8        224: 100% ━━━━━━━━━━━━ 4/4 2.7it/s 1.5s\n"
        "\r\x1b[K               classes   top1_acc   top5_acc: 100% ━━━━━━━━━━━━ 1/1 4.8it/s 0.2s\n"
        "                   all      0.625          1\n"
    )
    run = read(log)
    assert points(run, "loss") == [(1, 0.7282)]
    assert points(run, "metrics/accuracy_top1") == [(1, 0.625)]


def test_rows_of_fastai_are_read_between_the_bars_that_it_draws_over_them(read: Any) -> None:
    bars = "".join(
        f"\rEpoch {{}}/3 : |{'█' * n}{'-' * (20 - n)}| {5 * n}.00% [{n}/20 00:00<00:01... 0.71]"
        for n in range(21)
    )
    blank = "\rEpoch {}/3 : " + 60 * " " + "\r"
    log = "█\repoch     train_loss  valid_loss  accuracy  time    \n█\r"
    for epoch, row in enumerate(
        ("0.69    0.65    0.61      00:01", "0.55    0.56    0.72      00:01", "0.47    0.51    0.78  00:01")
    ):
        log += (bars + 2 * blank).replace("{}", str(epoch + 1)) + f"{epoch}         {row}     \n"
    run = read(log)
    assert points(run, "train_loss") == [(0, 0.69), (1, 0.55), (2, 0.47)]
    assert points(run, "accuracy") == [(0, 0.61), (1, 0.72), (2, 0.78)]
    assert axis(run, "valid_loss") == "epoch"
    assert run.facts["run", "run.framework"].value == "fastai"


BATCH = "\rtrain          Epoch   {epoch}:  {percent:3d}%|█████     | {n}/10 [00:00<00:00, 35.81ba/s, loss/train/total={loss}]"


def test_bars_of_composer_count_batches(read: Any) -> None:
    log = "".join(
        BATCH.format(epoch=k // 10, percent=k % 10 * 10 + 10, n=k % 10 + 1, loss=9 - k / 10)
        for k in range(20)
    )
    run = read(log)
    assert points(run, "loss/train/total") == [(k + 1, 9 - k / 10) for k in range(20)]


def test_rows_in_a_file_of_composer_count_all_batches_and_the_bars_beside_them_are_passed_by(
    read: Any,
) -> None:
    log = "[hyperparameter]: num_nodes: 1 \n"
    for k in range(20):
        log += f"[metric][batch={k}]: time/batch_in_epoch: {k % 10} \n[metric][batch={k}]: loss/train/total: {9 - k / 10:.4f} \n\n"
        log += (
            "[stderr]: " + BATCH.format(epoch=k // 10, percent=50, n=k % 10 + 1, loss=8.5) + "     \x1b[A\n"
        )
    log += "[metric][batch=20]: metrics/eval/CrossEntropy: 7.2500 \n"
    run = read(log)
    assert points(run, "loss/train/total") == [(k, pytest.approx(9 - k / 10)) for k in range(20)]
    assert points(run, "metrics/eval/CrossEntropy") == [(20, 7.25)]


FULL_BAR = "{0}/{0} [==============================] - {1} - loss: 0.{2} - val_loss: 0.5\n"


def test_a_full_bar_above_the_first_heading_was_of_the_epoch_before(read: Any) -> None:
    run = read("".join(FULL_BAR.format(960, "3s 3ms/step", n) + f"Epoch {n + 1}/25\n" for n in (14, 15, 16)))
    assert points(run, "loss") == [(14, 0.14), (15, 0.15), (16, 0.16)]
    assert axis(run, "loss") == "epoch"


def test_full_bars_without_a_heading_are_counted_and_their_redraws_are_not(read: Any) -> None:
    redraw = "10/10 [====] - 1s 1ms/step - loss: 0.{0}\r"
    run = read("".join(redraw.format(n) + FULL_BAR.format(10, "1s 1ms/step", n) for n in (9, 8, 7)))
    assert points(run, "loss") == points(run, "loss")[:3] == [(0, 0.9), (1, 0.8), (2, 0.7)]


def test_bars_of_early_keras_count_samples_and_are_placed_by_epoch(read: Any) -> None:
    run = read("".join(f"Epoch {n}/4\n" + FULL_BAR.format(50000, "67s", n) for n in (1, 2, 3)))
    assert points(run, "loss") == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_trainings_of_one_epoch_each_are_counted(read: Any) -> None:
    run = read(
        "".join(
            "Epoch 1/1\n" + FULL_BAR.format(360, "11s 31ms/step", n) + f"  curr val acc: 0.{n}\n"
            for n in (3, 4, 5)
        )
    )
    assert points(run, "loss") == [(1, 0.3), (2, 0.4), (3, 0.5)]
    assert points(run, "curr val acc") == [(1, 0.3), (2, 0.4), (3, 0.5)]


def test_what_is_left_of_longer_redraws_behind_a_full_bar_is_none_of_its_values(read: Any) -> None:
    bar = "60/60 [====] - 3s 9ms/step - loss: 2.{0}634 - accuracy: 0.3063 - val_loss: 2.{0}556 - val_accuracy: 0.{0}848"
    left = (
        "TA: 2s - loss: 2.3655 - ac - ETA: 0s - loss: 2.3636 - accuracy: 0.30 - ETA: 0s - loss:",
        "3296 - accuracy:  - ETA: 29s - loss: 2.335 - ETA: 0s - loss: 2.3",
        "oss: 2.2734 - accu - loss: 2.2726 - accuracy: 0.327 - ETA",
        "",
    )
    run = read("".join(f"Epoch {n}/4\n{bar.format(n)}{rest}\n" for n, rest in enumerate(left, 1)))
    assert points(run, "val_loss") == [(1, 2.1556), (2, 2.2556), (3, 2.3556), (4, 2.4556)]
    assert points(run, "val_accuracy") == [(1, 0.1848), (2, 0.2848), (3, 0.3848), (4, 0.4848)]


def test_a_bar_of_more_decimals_is_read_to_its_end(read: Any) -> None:
    bar = "60/60 [====] - 3s 9ms/step - loss: 2.36341{0} - acc: 0.30632{0} - val_loss: 2.35561{0}"
    run = read("".join(f"Epoch {n}/2\n{bar.format(n)}\n" for n in (1, 2)))
    assert points(run, "val_loss") == [(1, 2.355611), (2, 2.355612)]
