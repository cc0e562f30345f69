"""Shares of hits among the first k of a list, against chance."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hrmdoc.measures.function import Member
from hrmdoc.measures.functions import hits
from hrmdoc.record.series import Nature


def share(name: str, values: list[float]) -> Member:
    series = SimpleNamespace(name=name, nature=Nature(words=tuple(name.split())))
    return Member(series, np.array(values, np.float64))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("val hit 10", True),
        ("recall 20", True),
        ("hr 5", True),
        ("recall", False),  # of no list
        ("ndcg 10", False),  # chance is another one
        ("hit 10 20", False),
    ],
)
def test_only_a_share_of_hits_among_the_first_so_many_is_judged(words: str, *, asked: bool) -> None:
    assert hits.hits_below_chance.among(share(words, [0.1]).series) is asked


@pytest.mark.parametrize(
    ("values", "below"),
    [
        ([0.05] * 6, False),
        ([5.0, 5.2, 5.1, 5.4, 5.6, 5.3], False),  # percents
        ([0.05, 0.05, 0.05, 0.07, 0.07, 0.07], False),
        ([0.1, 0.05, 0.05, 0.05, 0.05, 0.05], False),  # it was better once
        ([0.03] * 6, False),
        ([0.0, 0.001, 0.002, 0.004, 0.003, 0.004], True),
        ([0.0, 0.001, 0.002, 0.004, 0.01, 0.025], False),  # on its way
    ],
)
def test_ten_places_of_two_hundred_hold_a_twentieth_by_chance(values: list[float], *, below: bool) -> None:
    member = share("hit 10", values)
    assert (hits.hits_below_chance((member,), 200) is not None) is below


def test_every_length_of_the_list_must_say_the_same() -> None:
    one, other = share("hit 10", [0.01] * 6), share("hit 20", [0.3] * 6)
    assert hits.hits_below_chance((one, other), 200) is None
    assert hits.hits_below_chance((one, share("hit 20", [0.01] * 6)), 200) is one.series


def test_nothing_is_said_where_the_list_holds_most_items_or_nobody_tells_their_number() -> None:
    assert hits.hits_below_chance((share("hit 10", [0.1] * 6),), 15) is None
    assert hits.hits_below_chance((share("hit 10", [0.0] * 6),)) is None
