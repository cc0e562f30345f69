"""The places of many lines are those that the lines have one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hrmdoc.readers.log.grammar.position import NONE, Flow, Position, Positions

_RUN = st.builds(
    lambda epoch, steps, total, restarts: [Position(epoch, step, total, restarts) for step in steps],
    st.none() | st.integers(0, 4),
    st.lists(st.integers(0, 9), min_size=1, max_size=12) | st.lists(st.none(), min_size=1, max_size=3),
    st.none() | st.integers(4, 9),
    st.sampled_from([None, True, False]),
)


def _columns(positions: list[Position]) -> Positions:
    columns = zip(*(position[:4] for position in positions), strict=True)
    return Positions(*(np.array([NONE if one is None else int(one) for one in column]) for column in columns))


@given(before=_RUN, runs=st.lists(_RUN, min_size=1, max_size=5))
def test_lines_stand_where_they_do_one_by_one(before: list[Position], runs: list[list[Position]]) -> None:
    alone, together = Flow(), Flow()
    for flow in (alone, together):
        flow.place(Position(epoch=1, step=1))
        for position in before:
            flow.place(position)
    positions = [position for run in runs for position in run]
    steps = [alone.place(position)[0] for position in positions]
    assert together.place_all(_columns(positions)).tolist() == steps
    assert structs.asdict(together) == structs.asdict(alone)


@given(before=_RUN, runs=st.lists(_RUN, min_size=1, max_size=5))
def test_lines_of_no_epoch_stand_where_they_do_one_by_one(
    before: list[Position], runs: list[list[Position]]
) -> None:
    alone, together = Flow(), Flow()
    for flow in (alone, together):
        flow.place(Position(step=1, total=5, restarts=True))
        for position in before:
            flow.place(position._replace(epoch=None))
    positions = [position._replace(epoch=None) for run in runs for position in run]
    steps = [alone.place(position)[0] for position in positions]
    assert together.place_all(_columns(positions)).tolist() == steps


def test_a_lap_is_complete_where_its_next_line_would_complete_it() -> None:
    flow, shown = Flow(), [64, 6464, 12864, 64, 6464, 64]
    placed = [flow.place(Position(step=step, total=16000, restarts=True))[0] for step in shown]
    assert placed == [64, 6464, 12864, 16064, 22464, 16064]
