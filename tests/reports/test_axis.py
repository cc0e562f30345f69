"""Scales, ticks and the numbers beside them."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.reports.axis import margin_label, of_steps, of_values, step_label


def test_a_fall_over_three_orders_is_drawn_by_its_logarithm() -> None:
    assert of_values(np.array([1e-3, 2.0])).logarithmic
    assert not of_values(np.array([0.5, 2.0])).logarithmic
    assert not of_values(np.array([-1.0, 1e6])).logarithmic


def test_a_logarithm_that_is_asked_for_needs_positive_values() -> None:
    assert of_values(np.array([0.5, 2.0]), logarithmic=True).logarithmic
    assert not of_values(np.array([0.0, 2.0]), logarithmic=True).logarithmic
    assert not of_values(np.array([1e-3, 2.0]), logarithmic=False).logarithmic


@pytest.mark.parametrize(
    "values",
    [(3.929, 3.931), (0.0, 1.0), (-5.0, 1e4), (1e-9, 2e-9), (2.0, 2.0), (1e-4, 1e3), (-1e300, 1e300)],
)
def test_ticks_are_few_lie_inside_and_have_different_labels(values: tuple[float, float]) -> None:
    axis = of_values(np.array(values))
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(axis.low <= at <= axis.high for at, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)
    assert all(len(label) <= 8 for _, label in ticks)


def test_steps_of_one_point_have_an_axis_too() -> None:
    assert of_steps(5, 5).share(5) == 0.0


@pytest.mark.parametrize(
    ("value", "label"), [(0.0525, "0.0525"), (-1234.5, "-1.2e3"), (0.000177, "1.8e-4"), (1e-45, "1e-45")]
)
def test_numbers_beside_a_curve_fit_its_margin(value: float, label: str) -> None:
    assert margin_label(value) == label


@pytest.mark.parametrize(("step", "label"), [(1200, "1,200"), (120_000, "120k"), (1_500_000, "1.5M")])
def test_counts_of_steps_fit_under_the_axis(step: int, label: str) -> None:
    assert step_label(step) == label
