"""Settings that stand before the first step, without a word that they are such."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.readers.log.opening import settings_in
from hrmdoc.record.run import Run
from tests.readers.log.metrics import points

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
    assert dict(settings_in(line)) == stated


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
