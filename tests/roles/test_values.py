"""A framework's value in canonical units and type."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hrmdoc.record.records import Fact
from hrmdoc.roles.values import at, converted, number
from hrmdoc.rulebook import ConfigKey

FLOAT, INT = ConfigKey(("k",)), ConfigKey(("k",), "int")
FLAG, WORD = ConfigKey(("k",), "bool"), ConfigKey(("k",), "str")


@pytest.mark.parametrize(
    ("key", "value", "spelling", "canonical"),
    [
        ("optimizer.lr", "3e-4", FLOAT, 3e-4),
        ("optimizer.lr", 3, ConfigKey(("k",), scale=0.5), 1.5),
        ("run.total_steps", 3, ConfigKey(("k",), "int", scale=1000), 3000),
        ("run.total_steps", "2.5", INT, 2.5),
        ("run.total_steps", 0, INT, None),
        ("run.total_steps", -1, INT, None),
        ("world_size", 1, INT, 1),
        ("optimizer.weight_decay", 0, FLOAT, 0.0),
        ("optimizer.lr", "auto", FLOAT, None),
        ("optimizer.lr", None, FLOAT, None),
        ("optimizer.lr", "fast", FLOAT, None),
        ("optimizer.grad_clip", "None", FLOAT, 0.0),
        ("optimizer.grad_clip", None, FLOAT, 0.0),
        ("optimizer.grad_clip", False, FLOAT, 0.0),
        ("optimizer.grad_clip", "auto", FLOAT, None),
        ("eval.early_stopping", "false", FLAG, False),
        ("eval.early_stopping", "Off", FLAG, False),
        ("eval.early_stopping", 0, FLAG, False),
        ("eval.early_stopping", "5", FLAG, True),
        ("eval.early_stopping", True, FLAG, True),
        ("optimizer.name", 7, WORD, "7"),
        ("optimizer.name", "auto", WORD, None),
        ("precision", "torch.bfloat16", WORD, "bf16"),
        ("attention", "sdpa", ConfigKey(("k",), "bool", words={"sdpa": False}), False),
    ],
)
def test_a_value_is_scaled_typed_and_left_out_where_it_says_nothing(
    key: str, value: Any, spelling: ConfigKey, canonical: Any
) -> None:
    found = converted(key, value, spelling)
    assert (found, type(found)) == (canonical, type(canonical))


@pytest.mark.parametrize("value", ["nan", math.inf, "x", None, ""])
def test_what_is_no_finite_number_is_none(value: Any) -> None:
    assert number(value) is None


def test_a_converted_fact_stands_where_the_spelled_one_does() -> None:
    spelled = Fact("lr", "3e-4", "config", "a.yaml", 7)
    assert at(spelled, "optimizer.lr", 3e-4) == Fact("optimizer.lr", 3e-4, "run", "a.yaml", 7)
