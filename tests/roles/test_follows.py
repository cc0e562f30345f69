"""Which facts follow from others by arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from hrmdoc.record.records import Fact
from hrmdoc.roles.follows import derive


def derived(facts: dict[str, Any]) -> dict[str, Any]:
    found = {key: Fact(key, value, "run", f"{key}.yaml", 1) for key, value in facts.items()}
    derive(found)
    return {key: fact.value for key, fact in found.items()}


MICRO, WHOLE = "data.micro_batch_size", "data.batch_size"


@pytest.mark.parametrize(
    ("facts", "key", "value"),
    [
        ({MICRO: 4, "data.grad_accum": 2, "world_size": 8}, WHOLE, 64),
        ({MICRO: 4}, WHOLE, 4),
        ({MICRO: 4, WHOLE: 100}, WHOLE, 100),
        ({MICRO: "auto"}, WHOLE, None),
        ({WHOLE: 64, "data.grad_accum": 2, "world_size": 8}, MICRO, 4),
        ({WHOLE: 2, "world_size": 8}, MICRO, 1),
        ({WHOLE: 64}, MICRO, 64),
        ({WHOLE: 64, "world_size": 8}, MICRO, 8),
        ({"data.samples": 1000, WHOLE: 64}, "run.steps_per_epoch", 15),
        ({"data.samples": 10, WHOLE: 64}, "run.steps_per_epoch", 1),
        ({"run.epochs": 3, "run.steps_per_epoch": 15}, "run.total_steps", 45),
        ({"run.epochs": 0.5, "run.steps_per_epoch": 15}, "run.total_steps", 7),
        ({"run.total_steps": 45, "run.epochs": 3}, "run.steps_per_epoch", 15),
        ({"run.steps_per_epoch": 15, WHOLE: 64}, "data.samples", 960),
        ({"run.steps_per_epoch": 1, WHOLE: 1}, "data.samples", 1),
        ({"run.steps_per_epoch": 0, WHOLE: 64}, "data.samples", None),
        ({"run.total_steps": 1000, "schedule.warmup_ratio": 0.0301}, "schedule.warmup_steps", 31),
        (
            {"run.total_steps": 1000, "schedule.warmup_ratio": 0.1, "schedule.warmup_steps": 0},
            "schedule.warmup_steps",
            100,
        ),
        (
            {"run.total_steps": 1000, "schedule.warmup_ratio": 0.1, "schedule.warmup_steps": 1},
            "schedule.warmup_steps",
            1,
        ),
        ({"run.total_steps": 1000, "schedule.warmup_ratio": 0.0}, "schedule.warmup_steps", None),
        ({"schedule.warmup_ratio": 0.1}, "schedule.warmup_steps", None),
    ],
)
def test_batches_lengths_and_warm_up_follow_from_each_other(
    facts: dict[str, Any], key: str, value: float | None
) -> None:
    assert derived(facts).get(key) == value


SIZES = {"model.hidden_size": 768, "model.layers": 12, "model.num_heads": 12}


def test_the_weights_of_a_transformer_follow_from_width_depth_and_vocabulary_but_not_those_of_hrm() -> None:
    blocks = 12 * 12 * 768**2
    assert derived(SIZES)["model.parameters"] == blocks
    assert derived(SIZES | {"data.vocab_size": 50257})["model.parameters"] == blocks + 50257 * 768
    assert derived(SIZES | {"run.framework": "trl"})["model.parameters"] == blocks
    assert "model.parameters" not in derived(SIZES | {"run.framework": "hrm"})
    assert "model.parameters" not in derived({"model.hidden_size": 768, "model.layers": 12})


def test_what_follows_stands_where_its_source_does_and_replaces_nothing_that_is_known() -> None:
    found = {MICRO: Fact(MICRO, 4, "run", "a.yaml", 7)}
    derive(found)
    assert (found[WHOLE].file, found[WHOLE].line) == ("a.yaml", 7)
    assert derived({"data.samples": 1000, WHOLE: 64, "run.steps_per_epoch": 9})["run.steps_per_epoch"] == 9


def test_one_key_that_serves_as_both_batches_is_that_of_one_device() -> None:
    both = {key: Fact(key, 4, "run", "a.yaml", 7) for key in (MICRO, WHOLE)}
    both["world_size"] = Fact("world_size", 8)
    derive(both)
    assert (both[MICRO].value, both[WHOLE].value) == (4, 32)
