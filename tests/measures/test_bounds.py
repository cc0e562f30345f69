"""What arithmetic alone says of two measures of the same answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hrmdoc.measures.functions.bounds import least_cost


def test_each_wrong_answer_costs_the_logarithm_of_two_at_least() -> None:
    assert least_cost(np.array([0.2, 0.3, 0.4, 0.5, 0.5, 0.5])) == pytest.approx(0.5 * math.log(2.0))


def test_percents_are_shares() -> None:
    assert least_cost(np.array([20.0, 24.0, 25.0, 25.0, 25.0])) == pytest.approx(0.75 * math.log(2.0))


def test_where_nearly_all_is_right_single_answers_decide() -> None:
    assert least_cost(np.array([0.9, 0.95, 0.97, 0.98])) is None
