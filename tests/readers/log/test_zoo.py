"""Lines as programs and libraries print them, each of which once was read wrongly or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.log.metrics import points

NEMO = "Epoch 0: 10%|# | {i}/100 [00:10<01:00, v_num=, reduced_train_loss=0.{i}, global_step={i}]\n"
OBJECT_DETECTION = (
    "Step {i}00 per-step time 0.2s\n{'Loss/cls': 0.1,\n 'Loss/total_loss': 0.{i},\n 'learning_rate': 0.02}\n"
)
DEEPSPEECH = "".join(
    f"Epoch 1 | {part} | Elapsed Time: 0:01:00 | Steps: {{i}}0 | Loss: 0.{{i}}\n"
    for part in ("Train", "Validation")
)
ESTIMATOR = "INFO:tensorflow:loss = 0.{i}, step = {i}00 (9 sec)\nINFO:tensorflow:Saving dict for global step {i}00: loss = 0.5\n"
DARTS = (
    "01/02 03:04:05 PM epoch {i} lr 2.5e-02\n01/02 03:04:05 PM train 000 1.{i}00000e+00 50.000000 90.125000\n"
)
ICEFALL = "Epoch 1, batch {i}0, loss[loss=0.{i}, over 90.00 frames.], tot_loss[loss=0.9, over 80.00 frames.], batch size: 10\n"
CASES = [
    (
        "Epoch {i}/9\n100/100 - 3s - loss: 0.{i} - acc: 0.5 - val_loss: 0.6 - 3s/epoch - 30ms/step\n",
        "loss",
        [1, 2, 3],
    ),
    ("epoch {i} loss tensor(0.{i}, device='cuda:0', grad_fn=<MeanBackward0>)\n", "loss", [1, 2, 3]),
    ("Train step {i}0 -- Loss: 0.{i}, acc: 0.5 -- It/s: 1.7 -- ETA: 9 s\n", "Loss", [10, 20, 30]),
    ("{i}0: found 42, loss: x 27.0, y 28.6, conf 0.2, total 0.{i}\n", "total_loss", [0, 1, 2]),
    ("epoch {i} loss np.float64(0.{i})\n", "loss", [1, 2, 3]),
    ("Epoch {i} (train_loss=0.{i}, val_loss=0.5)\n", "train_loss", [1, 2, 3]),
    (NEMO, "reduced_train_loss", [1, 2, 3]),
    (
        "Epoch 1/5: 10%|# | {i}0/100 [00:10<00:00, 10.0img/s, loss (batch)=0.{i}]\n",
        "loss (batch)",
        [10, 20, 30],
    ),
    (ESTIMATOR, "loss", [100, 200, 300]),
    (ESTIMATOR.replace("loss = 0.5", "loss = 0.{i}"), "val_loss", [100, 200, 300]),
    (ICEFALL, "loss", [10, 20, 30]),
    (OBJECT_DETECTION, "Loss/total_loss", [100, 200, 300]),
    (DEEPSPEECH, "Loss", [10, 20, 30]),
    (DEEPSPEECH, "val_Loss", [10, 20, 30]),
    (
        "{i}/9 * Epoch {i} (train): lr=0.1 | loss=0.5\n{i}/9 * Epoch {i} (valid): loss=0.{i} | acc=0.5\n",
        "val_loss",
        [1, 2, 3],
    ),
    ("Epoch {i}: train loss/acc = 0.5/0.9, val loss/acc = 0.{i}/0.4\n", "val loss", [1, 2, 3]),
    ("Epoch {i}: train loss/acc = 0.5/0.9, val loss/acc = 0.6/0.{i}\n", "val acc", [1, 2, 3]),
    ("[Epoch {i}] train=0.5 val=0.4 loss=0.{i} time: 20.1\n", "loss", [1, 2, 3]),
    (
        "2026-01-02 03:04:05,123 P1 INFO ************ Epoch={i} start ************\nTrain loss: 0.{i}\n",
        "Train loss",
        [1, 2, 3],
    ),
    ("epoch {i}:\n  train:\n    loss: 0.9\n  val:\n    loss: 0.{i}\n", "val_loss", [1, 2, 3]),
    ("第{i}轮 训练损失：0.{i}，验证损失：0.5 验证准确率：0.4\n", "train loss", [1, 2, 3]),
    ("第{i}轮 训练损失：0.7，验证损失：0.{i}\n", "val loss", [1, 2, 3]),
]


@pytest.mark.parametrize(("line", "metric", "steps"), CASES)
def test_it_is_read(line: str, metric: str, steps: list[int], read: Any) -> None:
    run = read("".join(line.replace("{i}", str(i)) for i in (1, 2, 3)))
    assert points(run, metric) == [(step, i / 10) for i, step in zip((1, 2, 3), steps, strict=True)]


def test_losses_of_darts_stand_behind_the_step(read: Any) -> None:
    run = read("".join(DARTS.replace("{i}", str(i)) for i in (1, 2, 3)))
    assert [value for _, value in points(run, "loss")] == [1.1, 1.2, 1.3]
    assert [value for _, value in points(run, "top1")] == [50.0] * 3


@pytest.mark.parametrize(
    "line", ["Downloading: 10%|# | {i}/100 [00:10<00:00, 1.0MB/s, loss=0.1]\n", "test: (a, b) {i}\n"]
)
def test_other_bars_and_lines_are_not(line: str, read: Any) -> None:
    assert read("".join(line.replace("{i}", str(i)) for i in (1, 2, 3))).points == 0


def test_results_that_waited_are_dropped_where_other_lines_told_them_meanwhile(read: Any) -> None:
    run = read(
        "".join(
            f"step {i}0 loss: 0.{i} lr: 0.1\nAveraged stats: loss: 0.{i} lr: 0.1 (0.2)\n" for i in (1, 2, 3)
        )
    )
    steps = [step for step, _ in points(run, "loss")]
    assert steps == sorted(steps)
