from __future__ import annotations

from typing import Any

import pytest
import torch

from hrmdoc.trainer.state.feed import Feed


class Count:
    """Batches 1, 2, 3, ...; fails at `fail`."""

    def __init__(self, fail: int = 1000) -> None:
        self.at, self.fail = 0, fail

    def __iter__(self) -> Count:
        return self

    def __next__(self) -> dict[str, torch.Tensor]:
        if self.at + 1 == self.fail:
            raise ValueError("bad file")
        self.at += 1
        return {"inputs": torch.tensor([self.at])}

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


def take(feed: Feed, count: int) -> list[int]:
    return [int(feed.next()["inputs"]) for _ in range(count)]


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_the_place_is_that_of_the_last_batch_used_however_many_were_prepared(ahead: int) -> None:
    feed = Feed(Count(), torch.device("cpu"), ahead=ahead)
    assert feed.state_dict() == {"at": 0}
    assert take(feed, 3) == [1, 2, 3]
    assert feed.state_dict() == {"at": 3}
    feed.load_state_dict({"at": 1})
    assert take(feed, 3) == [2, 3, 4]
    feed.close()


@pytest.mark.parametrize("ahead", [0, 2])
def test_batches_that_were_used_before_are_counted_but_for_those_before_a_step_back(ahead: int) -> None:
    feed = Feed(Count(), torch.device("cpu"), ahead=ahead)
    take(feed, 3)
    assert feed.repeated == 0
    feed.load_state_dict({"at": 0})
    take(feed, 3)
    assert feed.repeated == 0
    feed.close()
    feed.source.at = 1  # type: ignore[attr-defined]
    assert take(feed, 3) == [2, 3, 4]
    assert (feed.repeated, feed.taken) == (2, 9)
    feed.close()


@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_of_the_source_is_raised_where_the_batch_is_asked_for(ahead: int) -> None:
    feed = Feed(Count(fail=3), torch.device("cpu"), ahead=ahead)
    assert take(feed, 2) == [1, 2]
    with pytest.raises(ValueError, match="bad file"):
        feed.next()
    feed.close()


def test_closing_ends_the_thread_even_while_it_waits_for_room() -> None:
    feed = Feed(Count(), torch.device("cpu"), ahead=1)
    feed.next()
    thread = feed._thread
    assert thread is not None
    feed.close()
    assert not thread.is_alive()
