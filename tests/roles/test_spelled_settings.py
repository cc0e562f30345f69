"""Canonical facts out of the settings of one small framework, spelling by spelling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hrmdoc.record.records import Fact, Points
from hrmdoc.record.run import Run
from hrmdoc.record.series import RoleGuess
from hrmdoc.roles import canonical
from hrmdoc.roles.canonical import settings_of
from hrmdoc.rulebook import ConfigKey, Framework, Rulebook

OWN = Framework(
    "own",
    "Own",
    markers=("config:own_lr",),
    config={
        "optimizer.lr": ConfigKey(("own_lr", "lr")),
        "optimizer.weight_decay": ConfigKey(("wd",)),
        "optimizer.grad_clip": ConfigKey(("clip",)),
        "precision": ConfigKey(("use_bf16", "amp", "half"), "bool"),
        "run.epochs": ConfigKey(("epochs",), "int"),
    },
    defaults={"optimizer.lr": 0.5, "wd": 0.01, "optimizer.grad_clip": 1.0, "rl.gamma": 0.9, "seed": [1]},
)
ANY = Framework("generic", "Any", config={"optimizer.lr": ConfigKey(("learning_rate",))})
BOOK = Rulebook(frameworks={"own": OWN, "generic": ANY})


def run_of(config: dict[str, Any], *metrics: str) -> Run:
    run = Run("run", lambda name: RoleGuess(name))
    for line, (key, value) in enumerate(config.items(), 1):
        run.add(Fact(key, value, "config", "c.yaml", line))
    for name in metrics:
        run.add(Points(name, np.arange(2), np.ones(2), np.full(2, math.nan), "a.log"))
    return run


def values(config: dict[str, Any], *metrics: str) -> dict[str, Any]:
    return {key: fact.value for key, fact in canonical(run_of(config, *metrics), BOOK).items()}


@pytest.mark.parametrize(
    ("config", "precision"),
    [
        ({"use_bf16": True}, "bf16"),
        ({"use_bf16": "true"}, "bf16"),
        ({"use_bf16": 1}, "bf16"),
        ({"use_bf16": False}, "fp32"),
        ({"use_bf16": 0}, "fp32"),
        ({"amp": True}, "fp16"),
        ({"amp": "bf16"}, "bf16"),
        ({"amp": 16}, "fp16"),
        ({"use_bf16": False, "amp": True}, "fp16"),
        ({"use_bf16": True, "amp": True}, "bf16"),
        ({}, None),
    ],
)
def test_a_switch_that_is_on_names_the_precision(config: dict[str, Any], precision: str | None) -> None:
    assert values(config).get("precision") == precision


def test_two_switches_of_one_file_that_are_on_are_told_with_the_line_of_the_second() -> None:
    found = canonical(run_of({"use_bf16": True, "half": False, "amp": True}), BOOK)
    assert found["precision"] == Fact("precision", "bf16", "run", "c.yaml", 1)
    assert found["precision.also"] == Fact("precision.also", "fp16", "run", "c.yaml", 3)
    apart = run_of({"use_bf16": True})
    apart.add(Fact("amp", True, "config", "d.yaml", 1))
    assert "precision.also" not in canonical(apart, BOOK)


THREE = {"own_lr": 0.1, "epochs": 3, "use_bf16": True}


def test_defaults_hold_from_three_keys_on_for_what_is_not_set() -> None:
    found = canonical(run_of(THREE), BOOK)
    assert found["optimizer.lr"].value == 0.1
    assert found["optimizer.weight_decay"] == Fact("optimizer.weight_decay", 0.01)
    assert found["optimizer.grad_clip"] == Fact("optimizer.grad_clip", 1.0)
    assert {"rl.gamma", "seed", "wd"}.isdisjoint(found)
    assert "optimizer.weight_decay" not in values({"own_lr": 0.1, "epochs": 3})


def test_defaults_do_not_hold_for_what_is_left_to_the_program() -> None:
    assert "optimizer.weight_decay" not in values({**THREE, "wd": "auto"})
    assert values({**THREE, "clip": None})["optimizer.grad_clip"] == 0.0


def test_settings_of_rewards_have_defaults_where_there_are_rewards_alone() -> None:
    assert values(THREE, "rl.reward")["rl.gamma"] == 0.9
    assert "rl.gamma" not in values(THREE, "train.loss")


def test_a_rate_that_is_logged_has_no_default() -> None:
    auto = {"own_lr": "auto", "epochs": 3, "use_bf16": True}
    assert "optimizer.lr" not in values(auto)
    none = {"epochs": 3, "use_bf16": True, "wd": 0.2, "clip": 1.0}
    none_marked = Rulebook(frameworks={"own": Framework(**{**_fields(OWN), "markers": ("config:epochs",)})})
    without, logged = run_of(none), run_of(none, "lr")
    assert canonical(without, none_marked)["optimizer.lr"].value == 0.5
    assert "optimizer.lr" not in canonical(logged, none_marked)


def _fields(framework: Framework) -> dict[str, Any]:
    return {name: getattr(framework, name) for name in framework.__struct_fields__}


def test_keys_are_found_whatever_their_case_and_hyphens_and_the_first_spelling_wins() -> None:
    assert values({"Own-LR": 0.2})["optimizer.lr"] == 0.2
    assert values({"lr": 0.3, "own_lr": 0.2})["optimizer.lr"] == 0.2
    assert values({"learning_rate": 0.4})["optimizer.lr"] == 0.4
    assert values({"learning_rate": 0.4, "own_lr": 0.2})["optimizer.lr"] == 0.2
    facts = [Fact("learning_rate", 0.4, "config", "c.yaml", 1), Fact("lr", 0.3, "config", "c.yaml", 2)]
    assert settings_of(facts, [ANY, OWN])["optimizer.lr"].value == 0.4
    assert settings_of(facts, [OWN, ANY])["optimizer.lr"].value == 0.3


@pytest.mark.parametrize(
    ("config", "rate"),
    [
        ({"a.learning_rate": 0.1}, 0.1),
        ({"a.learning_rate": 0.1, "b.learning_rate": 0.1}, 0.1),
        ({"a.learning_rate": 0.1, "b.learning_rate": 0.2}, None),
        ({"a.learning_rate": "auto"}, None),
        ({"eval.learning_rate": 0.1}, None),
    ],
)
def test_a_common_name_counts_in_any_section_where_all_say_the_same(
    config: dict[str, Any], rate: float | None
) -> None:
    assert values(config).get("optimizer.lr") == rate
    facts = [Fact(key, value, "config") for key, value in config.items()]
    assert settings_of(facts, [OWN]) == {}


def test_the_planned_length_is_that_of_the_last_row_unless_it_is_one_or_is_known() -> None:
    def logged(last: float, name: str = "total_steps", stated: int | None = None) -> Fact | None:
        run = run_of({})
        steps = np.array([1, 2])
        at = np.array([7, 8])
        run.add(Points(name, steps, np.array([5.0, last]), np.full(2, math.nan), "a.jsonl", at))
        if stated is not None:
            run.add(Fact("run.total_steps", stated, "run", "run.json"))
        return canonical(run, BOOK).get("run.total_steps")

    assert logged(900.0) == Fact("run.total_steps", 900, "run", "a.jsonl", 8)
    assert logged(900.0, "max_steps") == Fact("run.total_steps", 900, "run", "a.jsonl", 8)
    assert logged(900.0, "steps") is None
    assert logged(1.0) is None
    assert logged(2.0) == Fact("run.total_steps", 2, "run", "a.jsonl", 8)
    assert logged(900.0, stated=50) == Fact("run.total_steps", 50, "run", "run.json")


@pytest.mark.parametrize(
    ("key", "sharded"),
    [("fsdp", True), ("fsdp_config.x", True), ("fsdp[0]", True), ("fsdp.policy", True), ("fsdpx", False)],
)
def test_a_section_of_fsdp_says_that_weights_are_sharded(key: str, sharded: bool) -> None:
    assert values({key: 1}).get("parallel.fsdp", False) is sharded
    run = run_of({})
    run.add(Fact(key, 1, "env"))
    assert "parallel.fsdp" not in canonical(run, BOOK)


@pytest.mark.parametrize(
    ("named", "stage"),
    [("zero-3", 3), ("ZERO_stage_2", 2), ("zero_stage1", 1), ("zero4", None), (True, None)],
)
def test_the_stage_stands_where_the_config_is_named(named: Any, stage: int | None) -> None:
    run = run_of({})
    run.add(Fact("parallel.deepspeed", named, "run", "a.yaml", 3))
    expected = None if stage is None else Fact("parallel.zero_stage", stage, "run", "a.yaml", 3)
    assert canonical(run, BOOK).get("parallel.zero_stage") == expected


def test_a_stated_precision_is_spelled_as_rules_spell_it() -> None:
    run = run_of({})
    run.add(Fact("precision", "torch.bfloat16", "run", "run.json", 4))
    assert canonical(run, BOOK)["precision"] == Fact("precision", "bf16", "run", "run.json", 4)
    run.add(Fact("precision", "own-format", "run", "run.json", 5))
    assert canonical(run, BOOK)["precision"].value == "own-format"
