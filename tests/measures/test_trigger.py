"""Episodes from scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.measures.trigger import Episode, Trigger


def episodes(scores: list[float], **options: object) -> list[Episode]:
    trigger = Trigger(**options)  # type: ignore[arg-type]
    trigger.update(scores)
    return trigger.episodes


def test_a_streak_shorter_than_the_patience_opens_nothing() -> None:
    assert episodes([0, 5, 5, 0, 5, 5, 0], enter=5, patience=3) == []


def test_an_episode_begins_at_the_first_point_of_its_streak() -> None:
    assert episodes([0, 5, 7, 6, 0], enter=5, patience=3) == [Episode(1, 3, 4, 7.0, 2, 3, 6.0, 3)]


def test_between_leave_and_enter_an_episode_lasts() -> None:
    assert episodes([9, 3, 3, 9, 1], enter=8, leave=2) == [Episode(0, 0, 4, 9.0, 0, 4, 9.0, 4)]


def test_leaving_needs_its_own_patience() -> None:
    assert episodes([9, 1, 9, 1, 1], enter=8, leave=2, leave_patience=2) == [
        Episode(0, 0, 4, 9.0, 0, 4, 1.0, 2)
    ]


def test_points_not_judged_neither_open_nor_close_nor_count() -> None:
    nan = float("nan")
    trigger = Trigger(5, patience=2)
    trigger.update([5, nan, nan, 6, nan])
    assert trigger.episodes == [Episode(0, 3, None, 6.0, 3, 2, 6.0, 2)]
    assert trigger.evaluated == 2
    assert trigger.open


def test_below_turns_both_comparisons_round() -> None:
    assert episodes([5, 1, 0, 3, 5], enter=1, leave=4, direction="below") == [
        Episode(1, 1, 4, 0.0, 2, 3, 3.0, 3)
    ]


def test_reaching_the_threshold_exactly_opens() -> None:
    assert episodes([1.0], enter=1.0) == [Episode(0, 0, None, 1.0, 0, 1, 1.0, 1)]


def test_several_episodes_are_kept_in_order() -> None:
    assert [(e.start, e.closed) for e in episodes([9, 0, 9, 9, 0, 9], enter=8)] == [(0, 1), (2, 4), (5, None)]


def test_a_leave_beyond_enter_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond enter"):
        Trigger(5, 6)


def test_a_patience_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Trigger(5, patience=0)


def reference(
    scores: list[float], enter: float, leave: float, patience: int, leave_patience: int
) -> list[tuple[int, int | None]]:
    """The definition, one point at a time."""
    found: list[tuple[int, int | None]] = []
    high: list[int] = []
    low = 0
    is_open = False
    for index, score in enumerate(scores):
        if np.isnan(score):
            continue
        high = [*high, index] if score >= enter else []
        low = low + 1 if score <= leave else 0
        if not is_open and len(high) >= patience:
            is_open = True
            found.append((high[0], None))
        elif is_open and low >= leave_patience:
            is_open = False
            found[-1] = (found[-1][0], index)
    return found


@given(
    scores=st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, float("nan")]), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    patience=st.integers(1, 4),
    leave_patience=st.integers(1, 4),
)
def test_episodes_follow_the_definition_however_the_scores_are_cut(
    scores: list[float], cuts: list[int], patience: int, leave_patience: int
) -> None:
    trigger = Trigger(3.0, 1.0, patience, leave_patience)
    borders = [0, *sorted(min(cut, len(scores)) for cut in cuts), len(scores)]
    for begin, end in itertools.pairwise(borders):
        trigger.update(scores[begin:end])
    assert [(e.start, e.closed) for e in trigger.episodes] == reference(
        scores, 3.0, 1.0, patience, leave_patience
    )
    for episode in trigger.episodes:
        assert scores[episode.peak_index] == episode.peak
        inside = scores[episode.start : episode.closed]
        assert episode.peak == np.nanmax(inside)
        assert episode.count == np.count_nonzero(~np.isnan(inside))
        assert episode.held == np.count_nonzero(np.array(inside) > 1.0)
