"""A loss that is given what it is not made for, by arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.measures.functions.misapplied import classes_if_twice, grows_throughout, minus_probability


@pytest.mark.parametrize("classes", [3, 10, 100])
def test_the_number_of_classes_follows_from_a_loss_of_two_softmaxes(classes: int) -> None:
    right = np.linspace(0.7, 0.97, 24)
    losses = math.log1p((classes - 1) / math.e) + 1.0 - right
    assert classes_if_twice(losses, right) == pytest.approx(classes, rel=0.05)
    assert classes_if_twice(losses, 100 * right) == pytest.approx(classes, rel=0.05)


def test_a_loss_that_knows_its_answers_has_no_such_number() -> None:
    right = np.linspace(0.7, 0.97, 24)
    assert classes_if_twice(-np.log(right), right) == 0.0


def test_a_first_loss_far_below_the_guess_of_so_many_classes_is_not_theirs() -> None:
    right = np.concatenate([np.full(3, 0.17), np.linspace(0.2, 0.95, 9), np.full(24, 0.95)])
    losses = np.concatenate([np.linspace(1.79, 1.46, 12), np.full(24, 1.45)])
    assert classes_if_twice(losses, right) == 0.0, (
        "six classes guess at 1.79, and the end would be that of nine"
    )
    losses[:12] = np.linspace(2.2, 1.6, 12)
    assert classes_if_twice(losses, right) == pytest.approx(9.3, rel=0.05)


def test_minus_the_probability_lies_at_minus_the_accuracy() -> None:
    right = np.linspace(0.2, 0.9, 20)
    assert minus_probability(-right + 0.02, right) == pytest.approx(0.02)


def test_growth_counts_where_hardly_a_stretch_comes_down() -> None:
    assert grows_throughout(np.arange(1.0, 41.0)) > 10
    assert grows_throughout(np.tile([1.0, 30.0, 2.0, 60.0], 10)) == 1.0
