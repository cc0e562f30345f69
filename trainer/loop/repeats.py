"""Whether the data come again and again: what a person would notice in the batches."""

from __future__ import annotations

from .hooks import Hook
from .job import Job

REPEATS_FROM = 16  # batches: of fewer, half may have come twice by a small data set alone


class Repeats(Hook):
    """Warns once when most batches came before."""

    def __init__(self, job: Job) -> None:
        self._run, self._feed, self._warned = job.run, job.state.feed, False

    def logged(self, step: int) -> None:
        feed = self._feed
        if self._warned or feed.taken < REPEATS_FROM or feed.repeated <= feed.taken / 2:
            return
        self._warned = True
        self._run.warn(
            step,
            f"self-check: {feed.repeated} of {feed.taken} batches held the very inputs of an earlier one: "
            "the data are few, or come again unshuffled",
        )
