"""The mini notation of case files."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.errors import RuleError
from hrmdoc.examination.cases.notation import series_from


def test_a_plain_list_of_values_is_taken_as_it_is() -> None:
    np.testing.assert_array_equal(series_from("1 2.5 -3 1e-4 .5", seed=""), [1, 2.5, -3, 1e-4, 0.5])


def test_an_increment_is_added_from_point_to_point() -> None:
    np.testing.assert_allclose(series_from("2-0.5x4", seed=""), [2, 1.5, 1, 0.5])


def test_a_factor_multiplies_from_point_to_point() -> None:
    np.testing.assert_allclose(series_from("1*2x4", seed=""), [1, 2, 4, 8])


def test_nan_and_infinities_are_values_and_an_underscore_is_a_missing_point() -> None:
    np.testing.assert_array_equal(
        series_from("nanx2 inf -inf _x2", seed=""), [np.nan, np.nan, np.inf, -np.inf, np.nan, np.nan]
    )


def test_the_same_seed_gives_the_same_noise_and_another_seed_another() -> None:
    first = series_from("1~0.1x50", seed="a")
    np.testing.assert_array_equal(first, series_from("1~0.1x50", seed="a"))
    assert not np.array_equal(first, series_from("1~0.1x50", seed="b"))
    assert 0.05 < first.std() < 0.2


def test_an_empty_notation_is_an_empty_series() -> None:
    assert len(series_from("  ", seed="")) == 0


@pytest.mark.parametrize("item", ["x3", "1x", "1~x3", "1++2", "one", "1x-3", "__"])
def test_an_item_that_cannot_be_read_is_named(item: str) -> None:
    with pytest.raises(RuleError, match="is no item of a series"):
        series_from(f"1 {item}", seed="")


def test_a_series_too_long_to_hold_is_refused() -> None:
    with pytest.raises(RuleError, match="more than"):
        series_from("1x99999999", seed="")


def test_items_follow_each_other_and_grow_by_factor_and_increment_from_their_first_value() -> None:
    np.testing.assert_allclose(series_from("8 1+1*2x3 3", seed=""), [8, 1, 3, 6, 3])


def test_a_series_has_no_more_points_than_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrmdoc.examination.cases.notation.MOST", 10)
    assert len(series_from("1x4 2x6", seed="")) == 10
    with pytest.raises(RuleError, match="a series of more than 10 points"):
        series_from("1x4 2x7", seed="")
