"""Settings that stand before the first step, without a word that they are such."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc import rulebook
from hrmdoc.readers.log.grammar.settings import names_of
from hrmdoc.readers.log.opening import settings_in
from hrmdoc.record.run import Run
from hrmdoc.roles.spelled import names_of_settings
from tests.readers.log.metrics import points

NAMES = names_of(names_of_settings(rulebook.load()))
STEPS = "".join(f"epoch {at} loss 0.{9 - at}\n" for at in range(1, 6))


def settings(run: Run) -> dict[str, Any]:
    return {key: fact.value for (scope, key), fact in run.facts.items() if scope == "config"}


@pytest.mark.parametrize(
    ("line", "stated"),
    [
        ("learning_rate = 1e-3", {"learning_rate": 1e-3}),
        ("Overriding: max_iters = 300", {"max_iters": 300}),
        ("weight_decay: 0.1", {"weight_decay": 0.1}),
        ("optimizer = adamw", {"optimizer": "adamw"}),
        ("lr=0.5, wd=0.01, dropout=0.2", {"lr": 0.5, "wd": 0.01, "dropout": 0.2}),
        ("lr=3e-4 | batch_size=32 | epochs=10 | name=x.", {"lr": 3e-4, "batch_size": 32, "epochs": 10}),
        ("Batch Size: 1024", {"batch_size": 1024}),
        ("Number of epochs: 5", {"number_of_epochs": 5}),
        ("trainer.num_epochs = 40", {"trainer.num_epochs": 40}),
        ("    batch_size: 128     \t[default: 64]", {"batch_size": 128}),
        ("Config: accum_steps: 8", {"accum_steps": 8}),
        ("| batch_size | 8 |", {"batch_size": 8}),
        ("Batch: 1  |  Seq len: 384  |  Embed: 1024", {"Batch": 1, "seq_len": 384}),
        ("runner = dict(type='Epochs', max_epochs=9)", {"runner.type": "Epochs", "runner.max_epochs": 9}),
        ("Args: {'epochs': 5, 'lr': 0.025, 'to': None}", {"epochs": 5, "lr": 0.025, "to": None}),
        ("{'loss': 2.5, 'lr': 0.025, 'batch_size': 4}", {}),
        ("{'lr': 0.025, 'epoch': 4}", {}),
        ("| total_timesteps | 2048 |", {}),
        ("| clip_range | 0.2 |", {}),
        ("precision: 0.81", {}),
        ("steps: 100", {}),
        # a curve has such names as well, and a line of other things is none of settings
        ("lr: 0.001", {}),
        ("temperature: 0.7", {}),
        ("name = run7", {}),
        ("lr=0.5 loss=2.0 acc=0.3 wd=0.1", {}),
        ("lr=0.5, wd=0.01", {}),
        ("batch_size 32", {}),
        ("dropout = 0.1 and more words", {}),
    ],
)
def test_what_bears_the_name_of_a_setting_is_one(line: str, stated: dict[str, Any]) -> None:
    found = settings_in(line, NAMES)
    assert ({} if found is None or found.may else dict(found.stated)) == stated


def test_settings_before_the_first_step_are_facts(read: Any) -> None:
    run = read(f"learning_rate = 0.5\nmax_epochs: 5\n{STEPS}")
    assert settings(run) == {"learning_rate": 0.5, "max_epochs": 5}


def test_what_stands_behind_it_or_far_from_the_top_is_none(read: Any) -> None:
    assert settings(read(f"{STEPS}learning_rate = 0.5\n")) == {}
    assert settings(read("some words\n" * 600 + "learning_rate = 0.5\n" + STEPS)) == {}


def test_lines_of_one_and_of_several_stand_together(read: Any) -> None:
    log = f"dropout = 0.3\nlr=0.5, wd=0.01, epochs=5\n{STEPS}"
    assert settings(read(log)) == {"dropout": 0.3, "lr": 0.5, "wd": 0.01, "epochs": 5}


def test_what_changes_is_a_curve(read: Any) -> None:
    run = read("".join(f"loss = {3 - at / 10}\nlr = {0.1 - at / 100}\n" for at in range(8)))
    assert points(run, "lr") == [(at, pytest.approx(0.1 - (at + 1) / 100)) for at in range(7)]
    assert len(points(run, "loss")) == 8


def test_rates_and_unknown_names_are_settings_in_a_block_of_them(read: Any) -> None:
    run = read(f"Learning rate: 0.5\nBatch size: 32\nn_clusters = 12\nepoch = 5\nlr: 0.5\n{STEPS}")
    stated = {"learning_rate": 0.5, "batch_size": 32, "n_clusters": 12, "epochs": 5, "lr": 0.5}
    assert settings(run) == stated
    assert [key.metric for key in run.series] == ["loss"]


def test_a_dump_of_sections_gives_paths_and_no_step(read: Any) -> None:
    dump = (
        "Config: accum_steps: 8\nbatch: 512\nmodel:\n  inner:\n    num_layers: 12\n  dim: 8\nbatch_eval: 64\n"
    )
    run = read(dump + STEPS)
    stated = {"accum_steps": 8, "batch": 512, "batch_eval": 64, "model.inner.num_layers": 12, "model.dim": 8}
    assert settings(run) == stated
    assert [at for at, _ in points(run, "loss")] == [1, 2, 3, 4, 5]


def test_the_first_batch_below_settings_is_no_size(read: Any) -> None:
    log = "dropout: 0.1\n" + "".join(f"batch: {at}\nloss: {9 - at}.5\n" for at in range(1, 6))
    assert settings(read(log)) == {"dropout": 0.1}


def test_a_heading_that_is_printed_again_is_no_curve(read: Any) -> None:
    heading = "Batch size: 4\nend_lr: 0\nbase: 3\nuse_cycle_loss: 1\nlearning_rate: 0.5\n"
    again = heading.replace("0.5", "0.25")  # another run of the same program
    run = read((heading + STEPS) * 3 + (again + STEPS) * 3)
    assert [key.metric for key in run.series] == ["loss"]


def test_what_is_logged_alone_by_the_name_of_a_heading_is_a_curve(read: Any) -> None:
    rates = "".join(f"epoch {at}\nloss: 0.{9 - at}\nlr: 0.{at}\n" for at in range(1, 6))
    run = read(f"batch_size: 4\nlr: 0.7\n{rates}")
    assert [value for _, value in points(run, "lr")] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_settings_of_the_trials_of_a_search_are_no_curves(read: Any) -> None:
    log = "".join(
        f"{{'learning_rate': 0.{at}, 'epochs': 30, 'batch_size': {at}}}\ntrain loss: {at}.5\nval loss: {at}.7\n"
        for at in range(1, 9)
    )
    run = read(log)
    assert {key.metric for key in run.series} == {"train loss", "val loss"}
    assert settings(run) == {"learning_rate": 0.8, "epochs": 30, "batch_size": 8}


def test_the_sizes_of_an_evaluation_are_neither_curves_nor_settings(read: Any) -> None:
    block = "***** Running Evaluation *****\n  Num examples = 300\n  Batch size = 15\n"
    first = "***** Running training *****\n  Num examples = 900\n"
    run = read(block + first + "".join(f"epoch {at} loss 0.{at}\n{block}" for at in range(1, 9)))
    assert [key.metric for key in run.series] == ["loss"]
    assert run.facts["run", "data.samples"].value == 900
    assert settings(run) == {"num_examples": 900}


def test_a_mapping_over_several_lines_and_a_box_are_read_row_by_row(read: Any) -> None:
    log = (
        " 'train': {'name': 'x',\n   'max_epochs': 30,\n"
        + "-" * 20
        + "\n| dropout | 0.5 |\n| drop_to | 0 |\n"
    )
    run = read(log + "-" * 20 + "\n" + STEPS)
    assert settings(run) == {"max_epochs": 30, "dropout": 0.5, "drop_to": 0}
    assert [key.metric for key in run.series] == ["loss"]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_however_a_log_is_cut_it_states_the_same(read: Any, size: int) -> None:
    heading = "seed: 4\nfoo: 3\nlr: 0.5\n"
    log = "foo: 2\n" * 30 + (heading + STEPS) * 4 + "foo: 9\nlr: 0.1\n" * 30
    whole, cut = read(log), read(log, range(size, len(log), size))
    assert settings(cut) == settings(whole) == {"seed": 4, "foo": 3, "lr": 0.5}
    assert [(key.metric, points(cut, key.metric)) for key in cut.series] == [
        (key.metric, points(whole, key.metric)) for key in whole.series
    ]


def test_a_printed_config_whose_rows_are_numbered_is_settings_each_time(read: Any) -> None:
    rows = (
        "data_case_sensitive = False",
        "optimizer_lr = 0.0001",
        "model_loss_weight = 1.0",
        "training_epochs = 4",
    )
    config = "ModelConfig(\n" + "".join(f"\t({n}): {row}\n" for n, row in enumerate(rows)) + ")\n"
    steps = "".join(f"epoch 0 iter {n}50: loss = 5.{n}, smooth loss = 5.{n}\n" for n in range(1, 5))
    run = read((config + steps) * 3)
    assert {key.metric for key in run.series} == {"loss", "smooth loss"}
    assert run.facts["config", "optimizer_lr"].value == 0.0001


def test_what_multiplies_the_rate_of_a_layer_is_no_curve(read: Any) -> None:
    layer = 'layer {\n  name: "conv"\n  param {\n    lr_mult: 1\n    decay_mult: 1\n  }\n}\n'
    run = read(layer * 5 + "".join(f"Iteration {n}, loss = 0.{n}\n" for n in range(1, 5)))
    assert {key.metric for key in run.series} == {"loss"}
