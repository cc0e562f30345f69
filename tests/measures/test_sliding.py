"""Medians of windows that slide."""

from __future__ import annotations

import numpy as np
import pytest

from hrmdoc.measures.sliding import WIDEST, sliding_median


@pytest.mark.parametrize("window", range(1, WIDEST + 3))
def test_the_median_of_every_window_is_that_of_numpy(window: int) -> None:
    rng = np.random.default_rng(window)
    for values in (rng.standard_normal(300), rng.integers(0, 3, 300) * 1.0, np.arange(window) * -1.0):
        rows = np.lib.stride_tricks.sliding_window_view(values, window)
        np.testing.assert_array_equal(sliding_median(values, window), np.median(rows, axis=1))
