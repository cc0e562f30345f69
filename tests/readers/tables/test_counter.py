"""Steps of rows: those that go on take a short way, which says what the long one says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.readers.tables.counter import Counter

NAN = math.nan
Row = tuple[float, float, bool]


def _of(rows: list[Row], sizes: list[int], *, short: bool) -> list[tuple[int, int]]:
    """Steps and axes of rows that come in blocks of these sizes, by the short way where there is one or
    never."""
    counter = Counter()
    if not short:
        counter._goes_on = lambda *_: False  # type: ignore[method-assign]
    found: list[tuple[int, int]] = []
    at = 0
    for size in [*sizes, len(rows)]:
        block, at = rows[at : at + size], at + size
        if block:
            step, epoch, restarting = zip(*block, strict=True)
            steps, axes = counter.steps(np.array(step), np.array(epoch), np.array(restarting))
            found += zip(steps.tolist(), axes.tolist(), strict=True)
    return found


STEPS = st.one_of(st.integers(0, 40).map(float), st.just(NAN), st.just(math.inf), st.just(1e30))
ROWS = st.lists(st.tuples(STEPS, st.sampled_from([NAN, 0.0, 0.5, 1.0, 2.0]), st.booleans()), max_size=24)


@given(ROWS, st.lists(st.integers(1, 4), max_size=12))
def test_the_short_way_says_what_the_long_one_says(rows: list[Row], sizes: list[int]) -> None:
    assert _of(rows, sizes, short=True) == _of(rows, sizes, short=False)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=24), st.lists(st.integers(1, 4), max_size=12))
def test_it_does_so_where_epochs_start_over(steps: list[int], sizes: list[int]) -> None:
    rows = [(float(step), float(number // 4), True) for number, step in enumerate(steps)]
    assert _of(rows, sizes, short=True) == _of(rows, sizes, short=False)


@pytest.mark.parametrize("restarting", [True, False])
def test_steps_that_go_on_take_it(restarting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counter, "_continued", lambda *_: pytest.fail("the long way"))
    rows = [(float(step), step / 10, restarting) for step in range(0, 50, 5)]
    assert _of(rows, [3, 1, 2], short=True) == [(step, 0) for step in range(0, 50, 5)]
