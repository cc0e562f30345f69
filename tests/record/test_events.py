"""The events of a run as a list, and what it costs."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hrmdoc.record.events import Events
from hrmdoc.record.records import Event

EVENTS = st.builds(
    Event,
    kind=st.sampled_from(["checkpoint", "checkpoint", "resume", "end"]),
    file=st.sampled_from(["a.log", "b.log"]),
    line=st.none() | st.integers(0, 9),
    step=st.none() | st.integers(0, 12),
    time=st.sampled_from([0.5, 2.0]),
    rank=st.none() | st.integers(0, 2),
    detail=st.sampled_from(["", "saved", "saved model-7", "saving 1 of 12 at 007", "saved model-12 (7)"]),
)


@given(events=st.lists(EVENTS, max_size=30))
def test_events_come_back_as_they_were_added(events: list[Event]) -> None:
    kept = Events()
    for event in events:
        kept.append(event)
    assert kept == events
    assert [*reversed(kept)] == events[::-1]
    assert kept[2:5] == events[2:5]
    assert kept[-1:] == events[-1:]
    assert pickle.loads(pickle.dumps(kept)) == events
    for kinds in (("checkpoint",), ("resume", "end"), ("end", "checkpoint")):
        assert [*kept.of(*kinds)] == [event for event in events if event.kind in kinds]
    for kind in ("checkpoint", "end"):
        assert [*kept.moments(kind)] == [(event.step, event.time) for event in events if event.kind == kind]
    assert kept.ranks == {event.rank for event in events}


def test_reports_of_checkpoints_take_their_numbers_and_little_more() -> None:
    kept, count = Events(), 20_000
    tracemalloc.start()
    for step in range(count):
        words = f"Saving model checkpoint to /runs/exp/checkpoint-{step}"
        kept.append(Event("checkpoint", "a.log", 3 * step, step, 1.5 * step, step % 8, words))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 60 * count
    assert kept[777].detail == "Saving model checkpoint to /runs/exp/checkpoint-777"


def test_checkpoints_in_ever_other_words_are_kept_all_the_same() -> None:
    digests = np.random.default_rng(0).integers(0, 2**60, 5000).tolist()
    events = [Event("checkpoint", "a.log", None, 3, 0.0, None, f"saved {digest:x}") for digest in digests]
    assert Events(events) == events
