"""Tests of other processes and threads wait for what they do, and fail where it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Waits for something to come true.

    Raises:
        AssertionError: it did not.
    """
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.02)


def until_written(words: str, log: Path) -> str:
    """Waits for words in a log; what it holds by then."""
    until(lambda: log.is_file() and words in log.read_text())
    return log.read_text()
