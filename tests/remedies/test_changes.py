"""What a change makes of a value, at its bounds and in the framework's own units."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hrmdoc.errors import PatchError, UnchangedError
from hrmdoc.remedies import switches
from hrmdoc.remedies.editors.scalars import Scalar, plain_word, read, render, rounded, same
from hrmdoc.remedies.switches import (
    as_flag,
    as_patience,
    is_patience,
    is_wanted,
    settings,
    spelling,
    takes_flags,
)
from hrmdoc.remedies.values import bounds, changed, to_canonical, to_own
from hrmdoc.rulebook import Change, ConfigKey

LR = "optimizer.lr"


@pytest.mark.parametrize(
    ("change", "current", "new"),
    [
        (Change(LR, "set", 0.5, min=0.5, max=0.5), None, 0.5),
        (Change(LR, "set", True, max=0.5), None, True),
        (Change(LR, "set", 3, max=3), None, 3),
        (Change(LR, "set", "adamw"), None, "adamw"),
        (Change(LR, "set", "=current * 2"), 0.5, 1.0),
        (Change(LR, "set", "=current + 1"), None, 1),
        (Change(LR, "set", "=1 / 3"), None, 0.333333),
        (Change(LR, "set", "=known(optimizer.lr)"), 0.5, True),
        (Change(LR, "multiply", 0.5, min=0.25), 0.5, 0.25),
        (Change(LR, "multiply", 0.5, min=0.3), 0.5, 0.3),
        (Change(LR, "multiply", 2.0, max=0.8), 0.5, 0.8),
        (Change(LR, "multiply", "=a.b"), 0.5, 1.5),
        (Change(LR, "clamp", min=0.6), 0.5, 0.6),
        (Change(LR, "clamp", max=0.4), 0.5, 0.4),
    ],
)
def test_a_change_gives_its_value_within_its_bounds(change: Change, current: Any, new: Any) -> None:
    found = changed(change, current, {"a.b": 3.0})
    assert (found, type(found)) == (new, type(new))


@pytest.mark.parametrize(
    ("change", "current", "said"),
    [
        (Change(LR, "set", 0.6, max=0.5), None, "optimizer.lr = 0.6 is out of bounds (at most 0.5)"),
        (Change(LR, "set", 0.4, min=0.5), None, "optimizer.lr = 0.4 is out of bounds (at least 0.5)"),
        (Change(LR, "set", "=a.c"), None, "cannot compute optimizer.lr =a.c: a.c is not known"),
        (Change(LR, "multiply", 0.5), None, "the current value of optimizer.lr is not known, so"),
        (Change(LR, "multiply", 0.5), "auto", "the current value of optimizer.lr is 'auto', no number, so"),
        (Change(LR, "multiply", 0.5), True, "the current value of optimizer.lr is True, no number"),
        (Change(LR, "multiply", 0.5), math.inf, "the current value of optimizer.lr is inf, no number"),
        (Change(LR, "clamp", max=1.0), None, "so it cannot be changed by clamp"),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change: Change, current: Any, said: str) -> None:
    with pytest.raises(PatchError) as error:
        changed(change, current, {})
    assert said in error.value.what
    assert not isinstance(error.value, UnchangedError)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Change(LR, "multiply", 0.5, min=0.5), "optimizer.lr = 0.5 is at its bound already (at least 0.5)"),
        (Change(LR, "multiply", 2.0, max=0.5), "optimizer.lr = 0.5 is at its bound already (at most 0.5)"),
        (Change(LR, "multiply", 2.0, max=0.4), "optimizer.lr = 0.5 is at its bound already (at most 0.4)"),
        (Change(LR, "multiply", 1.0), "optimizer.lr = 0.5 is at its bound already (no bounds)"),
        (
            Change(LR, "clamp", min=0.1, max=0.5),
            "optimizer.lr = 0.5 is within its bounds already (0.1 to 0.5)",
        ),
    ],
)
def test_a_change_that_changes_nothing_says_so(change: Change, said: str) -> None:
    with pytest.raises(UnchangedError) as error:
        changed(change, 0.5, {})
    assert error.value.what == said


def test_bounds_are_told_in_words() -> None:
    assert bounds(Change(LR, "set", 1, min=1e-6, max=1e-3)) == "1e-06 to 0.001"
    assert bounds(Change(LR, "set", 1, min=1e-6)) == "at least 1e-06"
    assert bounds(Change(LR, "set", 1, max=8)) == "at most 8"
    assert bounds(Change(LR, "set", 1)) == "no bounds"


FLAG, INT, REAL = ConfigKey(("k",), "bool"), ConfigKey(("k",), "int"), ConfigKey(("k",))


@pytest.mark.parametrize(
    ("value", "key", "before", "own"),
    [
        (None, REAL, None, None),
        (True, FLAG, None, True),
        (3, FLAG, None, True),
        (0, FLAG, None, False),
        (3, ConfigKey(("k",), "str"), None, "3"),
        (3000, ConfigKey(("k",), "int", scale=1000), None, 3),
        (3.0, INT, None, 3),
        (2.5, INT, None, 3),
        (2.5, INT, 2, 3),
        (2.5, INT, 3, 2),
        (2.5, INT, 2.5, 3),
        (2.5, INT, "auto", 3),
        (3.0000005, INT, 9, 3),
        (2.999, INT, 9, 2),
        (0.5, REAL, 1, 0.5),
        (2.0, REAL, 1, 2),
        (2.0, REAL, 1.0, 2.0),
        (2.0, REAL, None, 2.0),
        (2, REAL, None, 2),
        (0.02, ConfigKey(("k",), scale=0.01), None, 2.0),
        (False, ConfigKey(("k",), "bool", words={"flash": True, "plain": False}), None, "plain"),
        ("other", ConfigKey(("k",), "bool", words={"flash": True}), None, None),
    ],
)
def test_a_value_is_written_in_the_units_and_type_of_the_framework(
    value: Any, key: ConfigKey, before: Any, own: Any
) -> None:
    found = to_own(value, key, before)
    assert (found, type(found)) == (own, type(own))


@pytest.mark.parametrize(("value", "key"), [("x", REAL), ("x", INT), (True, REAL), (0.5, FLAG), ("on", FLAG)])
def test_a_value_of_another_type_is_refused(value: Any, key: ConfigKey) -> None:
    with pytest.raises(PatchError, match=f"k takes a value of type {key.type}, not"):
        to_own(value, key, None)


@pytest.mark.parametrize(
    ("value", "key", "canonical"),
    [
        ("flash", ConfigKey(("k",), "bool", words={"flash": True}), True),
        ("other", ConfigKey(("k",), "bool", words={"flash": True}), "other"),
        (3, ConfigKey(("k",), scale=0.1), 0.3),
        (3, REAL, 3),
        (True, ConfigKey(("k",), scale=0.1), True),
        ("x", ConfigKey(("k",), scale=0.1), "x"),
    ],
)
def test_an_own_value_is_read_in_canonical_units(value: Any, key: ConfigKey, canonical: Any) -> None:
    found = to_canonical(value, key)
    assert (found, type(found)) == (canonical, type(canonical))


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (1e-3, None, "0.001"),
        (9.99e-4, None, "9.99e-4"),
        (999_999.0, None, "999999.0"),
        (1e6, None, "1.0e+6"),
        (-2e-5, None, "-2.0e-5"),
        (0.0, None, "0.0"),
        (0.123456789, "1.0", "0.123457"),
        (123456.789, "1.0", "123457.0"),
        (1234567.0, "1.0", "1234567.0"),
        (2e-5, "1e-04", "2e-05"),
        (2e12, "1e+04", "2e+12"),
        (1.5, "1e2", "1.5e0"),
        (5, "1.0", "5.0"),
        (5, "1e3", "5e0"),
        (5, "x", "5"),
        (True, "y", "y"),
        (False, "Y", "N"),
        (True, "n", "y"),
        (True, "NO", "YES"),
        (True, "off", "on"),
        (False, "1", "0"),
        (True, "maybe", "true"),
        (False, "", "false"),
    ],
)
def test_a_value_is_written_as_its_neighbours_are(value: Any, like: str | None, text: str) -> None:
    assert render(value, like) == Scalar(text)


def test_numbers_are_the_same_up_to_what_is_printed_of_them() -> None:
    assert same(0.3, 0.1 * 3)
    assert not same(1.0, 1.0 + 1e-8)
    assert not same(0.0, 1e-12)
    assert same(None, None)
    assert not same(None, 0)
    assert same("a", "a")
    assert rounded(123456.5) == 123456.0
    assert rounded(1234567.0) == 1234570.0
    assert plain_word("cosine")
    assert read("1", "bool") is True


@pytest.mark.parametrize(
    ("keys", "value", "held", "wanted"),
    [
        (("bf16", "fp16"), "bf16", ["fp16"], {"bf16": True, "fp16": False}),
        (("bf16", "fp16"), "fp32", ["fp16", "bf16"], {"bf16": False, "fp16": False}),
        (("bf16", "fp16"), "fp16", [], {"fp16": True}),
        (("bf16.enabled", "amp"), "bf16", ["amp"], {"amp": True}),
        (("bf16.enabled", "amp"), "fp32", ["amp"], {"amp": False}),
        (("use_bf16",), "bf16", [], {"use_bf16": True}),
    ],
)
def test_switches_are_set_so_that_one_stands_for_the_value(
    keys: tuple[str, ...], value: str, held: list[str], wanted: dict[str, bool]
) -> None:
    assert settings(ConfigKey(keys, "bool"), value, held) == wanted


def test_a_value_without_a_switch_is_refused_and_one_in_force_changes_nothing() -> None:
    with pytest.raises(PatchError, match="no switch among bf16, fp16 stands for fp8"):
        settings(ConfigKey(("bf16", "fp16"), "bool"), "fp8", [])
    with pytest.raises(UnchangedError, match="fp32 is in force already: none of bf16, fp16 is set"):
        settings(ConfigKey(("bf16", "fp16"), "bool"), "fp32", [])


@pytest.mark.parametrize(
    ("name", "value", "current", "word"),
    [
        ("trainer.precision", "bf16", "16-mixed", "bf16-mixed"),
        ("trainer.precision", "fp16", "bf16-true", "16-mixed"),
        ("trainer.precision", "fp32", None, "32-true"),
        ("precision", "fp32", None, "fp32"),
        ("torch_dtype", "bf16", None, "bfloat16"),
        ("torch_dtype", "bf16", "fp16", "bf16"),
        ("x", "fp32", "torch.float16", "torch.float32"),
        ("x", "fp32", "bfloat16", "float32"),
        ("mixed_precision", "fp32", "bf16", "no"),
        ("mixed_precision", "fp16", "no", "fp16"),
        ("x", "int8", "float16", "int8"),
    ],
)
def test_a_precision_is_spelled_as_the_key_spells_it(
    name: str, value: str, current: str | None, word: str
) -> None:
    assert spelling(name, value, current) == word


def test_overrides_are_flags_where_the_framework_takes_them() -> None:
    assert [as_flag(name, "grad_clip") for name in ("hrm", "trl", "Megatron", "hf-trainer")] == [
        "grad_clip",
        "--grad_clip",
        "--grad-clip",
        "--grad_clip",
    ]
    assert takes_flags("axolotl")
    assert not takes_flags("hydra")


def test_early_stopping_is_a_number_of_evaluations_where_the_key_says_patience() -> None:
    patience = ConfigKey(("early.patience",), "bool")
    assert is_patience(patience)
    assert not is_patience(ConfigKey(("early.stop",), "bool"))
    stop = Change("eval.early_stopping", "set", True)
    key, change = as_patience(patience, stop)
    assert (key, change.value) == (ConfigKey(("early.patience",), "int"), switches.PATIENCE)
    assert as_patience(patience, Change("eval.early_stopping", "set", False))[1].value == 0
    assert as_patience(patience, Change("eval.early_stopping", "set", 7))[1].value == 7


def test_a_word_is_wanted_of_switches_alone_and_not_where_it_is_computed() -> None:
    assert is_wanted(Change("precision", "set", "bf16"), FLAG)
    assert not is_wanted(Change("precision", "set", "bf16"), REAL)
    assert not is_wanted(Change("precision", "set", "=a.b"), FLAG)
    assert not is_wanted(Change("precision", "set", True), FLAG)
    assert not is_wanted(Change("precision", "remove"), FLAG)
