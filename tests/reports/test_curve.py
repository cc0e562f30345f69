"""Curves as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from hrmdoc.reports.curve import margin_label, svg


def test_hostile_names_and_labels_are_escaped() -> None:
    page = svg("<script>alert(1)</script>", np.arange(5), np.arange(5.0), [(2, '"><img src=x>')])
    assert "<script>" not in page
    assert "<img" not in page
    ET.fromstring(page)


def test_a_million_points_stay_a_small_picture() -> None:
    page = svg("loss", np.arange(1_000_000), np.random.default_rng(0).normal(size=1_000_000))
    assert len(page) < 60_000


def test_the_extremes_survive_thinning() -> None:
    values = np.zeros(100_000)
    values[77_777] = 9.0
    tall = svg("loss", np.arange(100_000), values)
    flat = svg("loss", np.arange(100_000), np.zeros(100_000))
    assert len({part.split(",")[1] for part in tall.split('points="')[1].split('"')[0].split()}) > 1
    assert len({part.split(",")[1] for part in flat.split('points="')[1].split('"')[0].split()}) == 1


def test_nothing_finite_gives_no_picture() -> None:
    assert svg("loss", np.arange(3), np.full(3, np.nan)) == ""


@pytest.mark.parametrize(
    ("value", "label"), [(0.0525, "0.0525"), (-1234.5, "-1.2e3"), (0.000177, "1.8e-4"), (1e-45, "1e-45")]
)
def test_numbers_beside_a_curve_fit_its_margin(value: float, label: str) -> None:
    assert margin_label(value) == label
