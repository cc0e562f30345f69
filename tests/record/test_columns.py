"""Columns of numbers that take no room while they say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.record.columns import Column

NUMBERS = st.sampled_from([0.0, -0.0, 1.5, np.nan, np.inf])


@given(blocks=st.lists(st.lists(NUMBERS, min_size=1, max_size=4), min_size=1, max_size=12))
def test_a_column_gives_back_to_the_bit_what_it_was_given(blocks: list[list[float]]) -> None:
    column, size = Column(np.float64), 0
    for block in blocks:
        column.extend(size, np.array(block))
        size += len(block)
    given_ = np.concatenate(blocks)
    assert column.first(size).tobytes() == given_.tobytes()
    np.testing.assert_array_equal([column.at(at, size) for at in range(-size, size)], [*given_, *given_])


@given(
    steps=st.lists(st.sampled_from([0, 1, 1, 1, 2]), max_size=30),
    cut=st.integers(1, 30),
    back=st.integers(0, 5),
)
def test_a_counter_may_be_cut_and_copied_anywhere(steps: list[int], cut: int, back: int) -> None:
    numbers = 7 + np.cumsum([0, *steps])
    column, cut = Column(np.int64, (0, 1)), min(cut, len(numbers))
    column.extend(0, numbers[:cut])
    if cut < len(numbers):
        column.extend(cut, numbers[cut:])
    kept = max(1, len(numbers) - back)
    own = column.copy(kept)
    own.extend(kept, np.array([3]))
    assert own.first(kept + 1).tolist() == [*numbers[:kept].tolist(), 3]
    assert column.first(len(numbers)).tolist() == numbers.tolist()
    assert [int(column.at(at, len(numbers))) for at in (0, -1)] == [numbers[0], numbers[-1]]


@pytest.mark.parametrize("value", [0.48, np.nan])
def test_a_number_that_stays_takes_no_room(value: float) -> None:
    column = Column(np.float64)
    for size in range(0, 4000, 1000):
        column.extend(size, np.full(1000, value))
    assert column.first(4000).strides == (0,)
    column.extend(4000, np.array([1.0]))
    np.testing.assert_array_equal(column.first(4001), [*[value] * 4000, 1.0])
