"""Summaries of models and optimizers that logs print, and records that stand on one line."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log.glued import records_in
from tests.readers.log.metrics import points

LIGHTNING = """\
5.1 K     Trainable params
11.2 M    Non-trainable params
11.2 M    Total params
44.7      Total estimated model params size (MB)
"""
ADAM = """\
Adam (
Parameter Group 0
    betas: (0.9, 0.999)
    lr: 0.1
    weight_decay: 0

Parameter Group 1
    lr: 0.5
)
"""


@pytest.mark.parametrize(
    ("text", "trained", "whole"),
    [
        (LIGHTNING, 5100, 11200000),
        (
            "Total params: 7,850 (30.66 KB)\nTrainable params: 0 (0.00 B)\nNon-trainable params: 7,850\n",
            0,
            7850,
        ),
        ("trainable params: 196 || all params: 46,852 || trainable%: 0.4183\n", 196, 46852),
        ("Trainable parameters: 11,796,480 (0.77% of 1,533,189,120)\n", 11796480, 1533189120),
        ("Trainable params: 1.2M\nTotal params: 3.4M\n", 1200000, 3400000),
        ("Parameters: 1883392 (0.00 B)\n", None, 1883392),
        ("01:02:03 | Parameters: 2,992,794\n", None, 2992794),
        ("Params: trainable=1,328,642, total=126,359,042\n", 1328642, 126359042),
        ("Model resnet18 created, param count:11689512\n", None, 11689512),
        ("INFO - Model: 2,155,392 parameters\n", None, 2155392),
    ],
)
def test_parameters_are_counted(text: str, trained: int | None, whole: int, read: Any) -> None:
    facts = read(text).facts
    found = facts.get(("run", "model.trainable_parameters"))
    assert (found.value if found else None) == trained
    assert facts["run", "model.parameters"].value == whole


def test_a_printed_optimizer_states_the_settings_of_its_first_group(read: Any) -> None:
    facts = read(ADAM).facts
    assert facts["config", "optimizer"].value == "Adam"
    assert facts["config", "lr"].value == 0.1
    assert facts["config", "weight_decay"].value == 0


def test_an_optimizer_printed_each_epoch_shows_its_rate_and_states_the_first(read: Any) -> None:
    run = read("".join(f"epoch {at}, loss: 1.{at}\n" + ADAM.replace("0.1", f"0.{9 - at}") for at in range(5)))
    assert run.facts["config", "lr"].value == 0.9
    rates = [series for key, series in run.series.items() if key.metric == "lr"]
    assert [series.values[0] for series in rates] == [0.9]


def test_a_class_of_the_program_is_no_optimizer(read: Any) -> None:
    assert ("config", "optimizer") not in read("Net (\n  lr: 0.1\n)\n").facts


def test_records_on_one_line_are_read_each(read: Any) -> None:
    records = [f"[{at:03}] train_loss: 1.{at} | dev_loss: 2.{at}" for at in range(1, 8)]
    run = read("\n".join(records[:3]) + "\n" + " ".join(records[3:]) + "\n")
    found = {key.metric: series.values.tolist() for key, series in run.series.items()}
    assert found == {
        "train_loss": [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
        "dev_loss": [2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7],
    }


def test_records_without_a_space_between_them_are_parted() -> None:
    records = [f"epoch: {at}/9, train_loss: 6.{at}, train_acc: 0.3" for at in (1, 2, 3, 1, 2)]
    assert records_in("".join(records)) == records


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 3 train_loss: 0.5 | Epoch 3 val_loss: 0.6 and so on",
        "[010] train_loss: 0.305 [009] train_loss: 0.274 counts down",
        "[INFO] [12] loss: 1.5 | acc: 0.5 and nothing more on the line",
        "Epoch 3 loss: 0.5",
    ],
)
def test_other_lines_are_one_record(text: str) -> None:
    assert records_in(text) == [text]


def test_a_run_time_in_every_record_does_not_make_them_summaries(read: Any) -> None:
    record = (
        "{{'loss': {}, 'grad_norm': 1.5, 'epoch': 0.{}, 'num_input_tokens_seen': 0, 'train_runtime': {}}}\n"
    )
    text = "".join(record.format(2.5 - at / 10, at, 20.0 * at) for at in range(1, 7))
    run = read(
        text + "{'train_runtime': 140.0, 'train_samples_per_second': 2.5, 'train_loss': 2.1, 'epoch': 1.0}\n"
    )
    assert [value for _, value in points(run, "loss")] == [2.4, 2.3, 2.2, 2.1, 2.0, 1.9]
    assert [event.line for event in run.events.of("end")] == [7]


def test_what_was_best_and_where_is_no_point_of_the_curve(read: Any) -> None:
    line = "Epoch {0}\tLoss: 0.{0}\tAcc: 0.5{0}\nBest Epoch {0}\tAcc: 0.7{0}\nBest top-1 is 0.6{0} at {0} epoch.\n"
    run = read("".join(map(line.format, range(1, 6))))
    assert points(run, "Acc") == [(n, 0.5 + n / 100) for n in range(1, 6)]
    assert "at" not in {key.metric for key in run.series}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Epoch {0:5d}: reducing learning rate of group 0 to 1.0000e-0{0}.", "reduced lr"),
        ("Epoch {0:5d}: reducing learning rate of group 1 to 1.0000e-0{0}.", "reduced lr_group1"),
        ("Epoch {0:05d}: ReduceLROnPlateau reducing learning rate to 0.1e-0{0}.", "reduced lr"),
    ],
)
def test_what_a_scheduler_sets_where_a_loss_stands_still_is_the_rate(read: Any, line: str, name: str) -> None:
    run = read("".join(f"Epoch {n} loss 0.{n}\n{line.format(n)}\n" for n in range(3, 7)))
    assert [step for step, _ in points(run, name)] == [3, 4, 5, 6]
    assert {key.metric for key in run.series} == {"loss", name}
