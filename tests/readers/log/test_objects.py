"""Mappings that are printed over many lines."""

from __future__ import annotations

import json
import pprint
from typing import Any

import pytest

from tests.readers.log.metrics import points

RECORDS = [
    {"epoch": n, "lr": 0.001, "main/loss": 0.5 - n / 10, "iteration": 100 * n, "note": "a: {b"}
    for n in (1, 2, 3)
]


def test_a_configuration_is_no_record(read: Any) -> None:
    config = json.dumps(
        {"layer_norm_eps": 1e-12, "loss": {"weight": 0.5}, "label_smoothing": 0.1, "epochs": 3}, indent=2
    )
    assert read(f"Model config Some {config}\n{config}\n" * 4).points == 0


@pytest.mark.parametrize("line", ["  this is no part of it", "Traceback of a kind", "step and loss"])
def test_another_line_ends_a_mapping_that_was_not_closed(line: str, read: Any) -> None:
    assert read(f'{{\n  "epoch": 3,\n  "loss": 0.5,\n{line}\n}}\n').points == 0


@pytest.mark.parametrize("indent", [1, 4])
def test_records_one_key_to_a_line_tell_their_steps(indent: int, read: Any) -> None:
    text = json.dumps(RECORDS, indent=indent)
    assert points(read(f"log:\n{text}\n"), "main/loss") == [(100, 0.4), (200, 0.3), (300, 0.2)]
    cut = text.split("\n", 2)[2]  # without the brackets that open the list and its first object
    assert [at for at, _ in points(read(cut), "main/loss")] == [100, 200, 300]


def test_what_stands_in_an_object_bears_its_name(read: Any) -> None:
    record = {"step": 5, "val": {"loss": 0.5, "acc": {"top1": 0.25}}, "train": {"loss": 0.25}}
    run = read(json.dumps(record, indent=2) + "\n")
    assert points(run, "val/loss") == [(5, 0.5)]
    assert points(run, "val/acc/top1") == [(5, 0.25)]
    assert points(run, "train/loss") == [(5, 0.25)]


def test_records_printed_by_pprint_are_read(read: Any) -> None:
    printed = "\n".join(
        pprint.pformat({**record, "grad_norm": float("nan"), "text": "x" * 70}) for record in RECORDS
    )
    assert [at for at, _ in points(read(f"{printed}\n"), "grad_norm")] == [100, 200, 300]


def test_records_of_a_state_file_are_those_in_its_list(read: Any) -> None:
    state = {
        "best_metric": None,
        "global_step": 300,
        "log_history": [{"step": n, "loss": n / 1000} for n in (100, 200)],
    }
    assert points(read(json.dumps(state, indent=2) + "\n"), "loss") == [(100, 0.1), (200, 0.2)]


def test_a_mapping_cut_anywhere_gives_the_same(read: Any) -> None:
    text = json.dumps(RECORDS, indent=4)
    whole = points(read(text), "main/loss")
    assert all(points(read(text, [cut]), "main/loss") == whole for cut in range(1, len(text), 7))


def test_an_evaluation_behind_a_training_stands_where_its_summary_says_that_it_ended(read: Any) -> None:
    run = read(
        "TrainOutput(global_step=1200, training_loss=0.5, metrics={'train_runtime': 9.5, 'epoch': 3.0})\n"
        "{'eval_loss': 1.5,\n 'eval_wer': 0.25,\n 'eval_runtime': 2.0,\n 'epoch': 3.0}\n"
    )
    assert points(run, "eval_loss") == [(1200, 1.5)]
    assert points(run, "eval_wer") == [(1200, 0.25)]


def test_what_trials_of_a_search_gave_is_no_loss_of_a_training(read: Any) -> None:
    trials = "".join(f" {{'loss': 1.{n}, 'status': 'ok'}},\n" for n in range(5))
    run = read("Epoch 1 loss 0.5\nEpoch 2 loss 0.4\n[" + trials.strip().removesuffix(",") + "]\n")
    assert points(run, "loss") == [(1, 0.5), (2, 0.4)]


def test_a_number_in_an_array_is_one_and_of_a_few_the_first_counts(read: Any) -> None:
    rows = (
        f"{{'recall': array([0.1{n}]), 'ndcg': np.array([0.2{n}, 0.3{n}]), 'precision': array([0.4{n}])}}\n"
        for n in range(4)
    )
    run = read("".join(rows))
    assert [value for _, value in points(run, "recall")] == [0.1, 0.11, 0.12, 0.13]
    assert [value for _, value in points(run, "ndcg")] == [0.2, 0.21, 0.22, 0.23]


def test_results_of_no_place_that_come_again_are_records_and_what_lies_in_a_list_is_none(read: Any) -> None:
    found = [{"accuracy": n / 10, "f1": n / 20, "seconds": 2} for n in range(1, 5)]
    run = read("".join(f"Evaluating the model now\nMetrics:\n{json.dumps(one, indent=2)}\n" for one in found))
    assert [value for _, value in points(run, "accuracy")] == [0.1, 0.2, 0.3, 0.4]
    assert read(f"Boxes:\n{json.dumps([{'score': n, 'x': 1} for n in range(5)], indent=2)}\n").points == 0
