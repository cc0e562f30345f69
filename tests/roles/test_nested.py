"""Settings in sections of any name."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc import rulebook
from hrmdoc.record.records import Fact
from hrmdoc.record.run import Run
from hrmdoc.roles import RoleMap, canonical
from hrmdoc.roles.nested import nested

BOOK = rulebook.load()


@pytest.mark.parametrize(
    ("names", "paths", "found"),
    [
        (["lr"], ["lr"], []),  # not in a section: found by its exact key
        (["batch_size"], ["val_dataloader.batch_size", "eval.batch_size"], []),
        (["lr"], ["trainer.callbacks.0.lr", "discriminator.lr", "ema-model.lr"], []),
        (
            ["dim", "steps", "num_steps", "warmup"],
            ["diffusion.num_steps", "a.dim", "b.steps", "c.warmup"],
            [],
        ),
        (["model.lr"], ["a.model.lr"], []),  # with its section a name is exact
        (["learning_rate", "lr"], ["model.lr", "solver.opt.learning_rate"], ["solver.opt.learning_rate"]),
        (["weight_decay"], ["a.Weight-Decay", "b.weight_decay"], ["a.Weight-Decay", "b.weight_decay"]),
        (
            ["batch_size"],
            ["train_dataloader.batch_size", "val_dataloader.batch_size"],
            ["train_dataloader.batch_size"],
        ),
    ],
)
def test_the_last_name_is_what_counts_but_in_sections_of_something_else(
    names: list[str], paths: list[str], found: list[str]
) -> None:
    assert nested(names, paths) == found


@pytest.mark.parametrize(
    ("config", "rate"),
    [
        ({"generator.lr": 1e-3, "head.lr": 1e-4}, None),  # which one is meant?
        ({"generator.lr": 1e-3, "head.lr": 1e-3}, 1e-3),
        ({"solver.inner.lr": "auto"}, None),
        ({"solver.inner.lr": 5e-3, "lr": 1e-4}, 1e-4),
        ({"model.net.init_args.lr": 5e-3}, 5e-3),
    ],
)
def test_a_setting_in_an_unknown_section_is_read_where_it_is_the_only_one(
    config: dict[str, Any], rate: float | None
) -> None:
    run = Run("run", RoleMap(BOOK))
    for line, (key, value) in enumerate(config.items(), 1):
        run.add(Fact(key, value, "config", "config.yaml", line))
    fact = canonical(run, BOOK).get("optimizer.lr")
    assert (None if fact is None else fact.value) == rate
