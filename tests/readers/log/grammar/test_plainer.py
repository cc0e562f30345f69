from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log.grammar.plainer import plainer
from tests.readers.log.metrics import axis, points


@pytest.mark.parametrize(
    "text",
    [
        "epoch: 3, loss: 0.5",
        "LOG (train:main():x.cc:1) Average objective function is -3.0",
        "call('loss', 0.5)",
        "('a', 'file name with spaces', [1, 2])",
        "('never closed', 3",
        "()",
    ],
)
def test_other_lines_stay_as_they_are(text: str) -> None:
    assert plainer(text) == text


def test_espnet_counts_batches_of_the_epoch_that_stands_first(read: Any) -> None:
    line = "[a] 2026-01-02 03:04:05,678 (trainer:1) INFO: 2epoch:train:{0}-{1}batch: iter_time=1e-04, loss=7{2}, optim0_lr0=1e-06\n"
    run = read("".join(line.format(100 * i + 1, 100 * i + 100, 9 - i) for i in range(3)))
    assert points(run, "loss") == [(100, 79), (200, 78), (300, 77)]
    assert axis(run, "loss") == "step"


def test_an_objective_of_kaldi_is_a_loss_with_the_other_sign(read: Any) -> None:
    where = "LOG (nnet3-train:PrintStatsForThisPhase():nnet-training.cc:121)"
    line = where + " Average objective function for '{0}' for minibatches {1}-{2} is {3} over 195 frames.\n"
    run = read("".join(line.format("output", 10 * i, 10 * i + 9, i - 4.5) for i in range(3)))
    assert points(run, "loss") == [(9, 4.5), (19, 3.5), (29, 2.5)]
    other = read(
        "".join(
            line.format("output-xent", 10 * i, 10 * i + 9, value)
            for i, value in enumerate(("nan", "0.5", "-.5"))
        )
    )
    assert [value for _, value in points(other, "output-xent_loss")][1:] == [-0.5, 0.5]


def test_what_python_2_prints_of_several_arguments_is_a_metric_line(read: Any) -> None:
    rows = "".join(
        f"('Episode #', {100 * i}, '\\tfinished with reward', {-90.5 + i}, '\\tNoise', 0.02)\n"
        for i in range(3)
    )
    assert [at for at, _ in points(read(rows), "finished with reward")] == [0, 100, 200]
    quoted = "".join(f"('Epoch:', '000{i}', 'cost=', '0.{9 - i}')\n" for i in range(3))
    assert points(read(quoted), "cost") == [(0, 0.9), (1, 0.8), (2, 0.7)]


def test_a_summary_may_tell_each_name_and_its_value_apart(read: Any) -> None:
    run = read(
        "Key: avg_train_loss, Value: nan\nMetric: avg_eval_loss, value: 0.75\nKey: the sort order, Value: 3\n"
    )
    assert repr(points(run, "avg_train_loss")) == "[(0, nan)]"
    assert {key.metric for key in run.series} <= {"avg_train_loss", "avg_eval_loss"}


def test_what_a_net_of_caffe_gives_out_is_of_its_phase(read: Any) -> None:
    step = (
        "I0102 03:04:05.6 78 solver.cpp:228] Iteration {0}, loss = {1}\n"
        "I0102 03:04:05.6 78 solver.cpp:244]     Train net output #0: accuracy = {2}\n"
        "I0102 03:04:05.6 78 solver.cpp:244]     Train net output #1: loss = {1} (* 1 = {1} loss)\n"
    )
    run = read("".join(step.format(20 * i, 4.5 - i, 0.25 * i) for i in range(3)))
    assert points(run, "loss") == [(0, 4.5), (20, 3.5), (40, 2.5)]
    assert points(run, "train accuracy") == [(0, 0.0), (20, 0.25), (40, 0.5)]
    test = (
        "I0102 03:04:05.6 78 solver.cpp:404]     Test net output #0: accuracy = 0.{0}\n"
        "I0102 03:04:05.6 78 solver.cpp:404]     Test net output #1: loss = {0}.5 (* 1 = {0}.5 loss)\n"
    )
    run = read("".join(test.format(9 - i) for i in range(3)))
    assert points(run, "test loss") == [(0, 9.5), (1, 8.5), (2, 7.5)]
    assert points(run, "test accuracy") == [(0, 0.9), (1, 0.8), (2, 0.7)]


def test_a_window_stands_behind_a_name_and_is_no_value(read: Any) -> None:
    line = "Game {0}00/900 | win rate (last 100): 0.{0} | reward (past 50 episodes) = 1.{0}\n"
    run = read("".join(line.format(n) for n in range(1, 6)))
    assert {key.metric for key in run.series} == {"win rate", "reward"}
    assert [value for _, value in points(run, "win rate")] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_a_loss_may_touch_its_value(read: Any) -> None:
    run = read("".join(f"EPOCH[{n}/50] loss0.{90 - n}-|Sample:12.{n}|\n" for n in range(1, 6)))
    assert points(run, "loss")[:2] == [(1, 0.89), (2, 0.88)]


def test_the_outputs_of_mindspore_are_the_loss_the_overflow_and_the_scale(read: Any) -> None:
    one = "Tensor(shape=[], dtype={0}, value= {1})"
    three = ", ".join(one.format(*pair) for pair in (("Float32", "{1}"), ("Bool", "{2}"), ("Float32", "512")))
    line = f"epoch: 0, current epoch percent: 0.1, step: {{0}}, outputs are ({three})\n"
    run = read("".join(line.format(n, 3.5 - n / 10, n == 2) for n in (1, 2, 3)))
    assert points(run, "loss") == [(1, 3.4), (2, 3.3), (3, 3.2)]
    assert points(run, "skipped_step") == [(1, 0), (2, 1), (3, 0)]
    assert points(run, "loss_scale") == [(1, 512), (2, 512), (3, 512)]
    alone = f"epoch: 1, step: {{0}}, outputs are {one.format('Float32', '{1}')}\n"
    run = read("".join(alone.format(n, 3.5 - n / 10) for n in (1, 2, 3)))
    assert points(run, "loss") == [(1, 3.4), (2, 3.3), (3, 3.2)]


def test_the_nameless_losses_of_vits_are_named_and_placed(read: Any) -> None:
    line = (
        "2021-01-02 03:0{0}:00,000\tvoice\tINFO\tTrain Epoch: {0} [{0}%]\n"
        "2021-01-02 03:0{0}:00,000\tvoice\tINFO\t[2.{0}, 2.5, 3.25, 21.{0}, 1.5, 1.75, {0}00, 0.0002]\n"
    )
    run = read("".join(map(line.format, range(1, 6))))
    assert points(run, "loss_disc") == [(100 * n, 2 + n / 10) for n in range(1, 6)]
    assert points(run, "loss_kl")[0] == (100, 1.75)
    assert points(run, "lr")[4] == (500, 0.0002)


def test_the_losses_of_five_terms_have_no_duration(read: Any) -> None:
    line = "2024-01-02 03:04:05,000\tv\tINFO\tLosses: [2.{0}, 2.5, 3.25, 21.5, 1.{0}], step: {0}00, lr: 9.9e-05\n"
    run = read("".join(map(line.format, range(1, 6))))
    assert points(run, "loss_kl")[:2] == [(100, 1.1), (200, 1.2)]
    assert "Losses" not in {key.metric for key in run.series}


@pytest.mark.parametrize("text", ["[1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 0.2]", "[1, 2, 3, 4, 5, 6, 7, 0.01]"])
def test_other_lists_keep_their_silence(text: str) -> None:
    assert plainer(text) == text
