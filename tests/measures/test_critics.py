"""What a critic says, against the returns that are counted; and how often the task was done."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hrmdoc import measures
from hrmdoc.measures.function import Member
from hrmdoc.record.series import Nature

FUNCTIONS = measures.all_functions()
NAN = float("nan")


def shown(function: str, **members: list[float]) -> str | None:
    """Which series the function answers with; what begins with `ret` is a reward."""
    made = []
    for name, values in members.items():
        words = tuple(name.split("_"))
        family = "reward" if words[0] == "ret" else ""
        role = SimpleNamespace(role=f"rl.{name}" if name in ("value_loss", "policy_loss") else None)
        array = np.array(values, np.float64)
        nature = Nature(family=family, words=words)
        series = SimpleNamespace(name=name, nature=nature, role=role, values=array)
        made.append(Member(series, array[np.isfinite(array)]))  # type: ignore[arg-type]
    found = FUNCTIONS[function](made)
    return None if found is None else str(found.name)


def x(value: float, count: int) -> list[float]:
    return [value] * count


@pytest.mark.parametrize(
    ("returns", "values", "named"),
    [
        (x(-100.0, 12), x(2.0, 12), "mean_q"),
        (x(100.0, 12), x(-2.0, 12), "mean_q"),
        (x(-100.0, 12), x(1.0, 12), None),  # too little to have a sign
        (x(-100.0, 12), [*x(2.0, 11), -2.0], None),
        ([*x(-100.0, 11), 1.0], x(2.0, 12), None),
        ([*x(100.0, 6), *x(-100.0, 6)], [*x(-2.0, 6), *x(2.0, 6)], "mean_q"),  # of the last half
        (x(-100.0, 12), x(-2.0, 12), None),
    ],
)
def test_an_estimate_of_the_other_sign_than_all_returns_is_named(
    returns: list[float], values: list[float], named: str | None
) -> None:
    assert shown("values_against_returns", ret=returns, mean_q=values) == named


@pytest.mark.parametrize("name", ["std_q", "q_loss", "curiosity_value_estimate", "value"])
def test_what_is_no_level_of_the_values_says_nothing_of_their_sign(name: str) -> None:
    assert shown("values_against_returns", ret=x(-100.0, 12), **{name: x(2.0, 12)}) is None
    assert shown("values_against_returns", ret=x(-100.0, 12), q=x(2.0, 12)) == "q"


def test_returns_of_two_signs_are_no_measure() -> None:
    assert shown("values_against_returns", ret=x(-9.0, 12), ret_b=x(9.0, 12), q=x(2.0, 12)) is None


RISING = [float(at) for at in range(20, 40)]


@pytest.mark.parametrize(
    ("returns", "explained", "loss", "named"),
    [
        (RISING, [0.1, *x(NAN, 19)], x(1.0, 20), "explained_variance"),
        (RISING, [*x(NAN, 16), *x(0.5, 4)], x(1.0, 20), None),
        (x(5.0, 20), [0.1, *x(NAN, 19)], x(1.0, 20), None),  # the returns do not vary either
        (RISING, x(0.5, 20), x(1e-6, 20), "value_loss"),
        ([*RISING[:8], *x(1000.0, 12)], x(0.5, 20), x(1e-6, 20), None),  # all of it is earned, and known
        (RISING, x(0.5, 20), x(1e-5, 20), None),
        (RISING, x(0.999, 20), x(1e-6, 20), None),  # nearly all of it is told
        (RISING, x(0.5, 20), x(0.0, 20), None),
        (RISING, x(0.5, 9), x(1e-6, 9), None),
    ],
)
def test_targets_that_do_not_vary_while_returns_do_are_named(
    returns: list[float], explained: list[float], loss: list[float], named: str | None
) -> None:
    found = shown("critic_sees_nothing", ret=returns, explained_variance=explained, value_loss=loss)
    assert found == named


def test_large_returns_are_taken_for_scaled_ones() -> None:
    large = [1e6 * one for one in RISING]
    said = {"explained_variance": x(0.5, 20), "value_loss": x(0.01, 20)}
    assert shown("critic_sees_nothing", ret=large, **said) is None
    assert shown("critic_sees_nothing", ret=large) is None


@pytest.mark.parametrize(
    ("values", "speaks"),
    [
        ([0.5, 0.5, *x(0.5, 6)], True),
        ([0.5, 0.5, *x(0.51, 6)], True),
        ([0.5, 0.5, *x(0.53, 6)], False),
        ([0.5, 0.5, *x(0.6, 2), *x(0.5, 4)], False),  # it was better in between
        ([0.2, 0.5, *x(0.5, 6)], True),  # the better of two
        (x(0.96, 8), False),
        (x(50.0, 8), True),
    ],
)
def test_features_of_no_more_use_are_named(values: list[float], speaks: bool) -> None:
    assert (shown("probe_gains_nothing", knn_acc=values) is not None) is speaks


@pytest.mark.parametrize(
    ("losses", "values", "returns", "speaks"),
    [
        (x(-20.0, 12), x(-20.0, 12), x(-100.0, 12), True),
        (x(-21.9, 12), x(-20.0, 12), x(-100.0, 12), True),
        (x(-22.1, 12), x(-20.0, 12), x(-100.0, 12), False),
        (x(20.0, 12), x(-20.0, 12), x(-100.0, 12), False),
        (x(-1.0, 12), x(-1.0, 12), x(-100.0, 12), False),  # too near to its opposite
        (x(-20.0, 12), x(-20.0, 12), [*x(-100.0, 6), *x(-90.0, 6)], False),  # it learns
    ],
)
def test_a_policy_that_minimises_what_it_is_to_maximise_is_named(
    losses: list[float], values: list[float], returns: list[float], speaks: bool
) -> None:
    said = shown("policy_loss_reversed", policy_loss=losses, mean_q=values, ret=returns)
    assert said == ("policy_loss" if speaks else None)


@pytest.mark.parametrize(
    ("name", "values", "speaks"),
    [
        ("sample_mmd", [0.5, 0.6, 0.5, 0.5, 0.476], True),
        ("sample_mmd", [0.5, 0.6, 0.5, 0.5, 0.474], False),
        ("sample_mmd", [0.5, 0.4, 0.5, 0.5, 0.5], False),  # it was nearer once
        ("sample_mmd", [0.0, 0.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_samples_that_come_no_nearer_are_named(name: str, values: list[float], speaks: bool) -> None:
    assert (
        shown("samples_gain_nothing", **{name: values}, fid=[9.0, 1.0, 1.0, 1.0, 1.0]) is not None
    ) is speaks
