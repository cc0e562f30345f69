"""Where the time of a step goes: waiting for data, computing, communicating. Measured, on the device that
does the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

Section = Literal["data", "compute", "comm"]


class Clock:
    """Adds up the time of sections of code.

    On CUDA the device is asked through events, because the host runs ahead of it; elsewhere the host's clock
    is right. A section within another one is taken off the outer one, so the sections never count a moment
    twice.
    """

    def __init__(self, *, cuda: bool = False) -> None:
        self.cuda = cuda
        self._open: list[Section] = []
        self._marks: list[tuple[Section, Section | None, Any, Any]] = []

    @contextmanager
    def section(self, name: Section) -> Iterator[None]:
        """Counts the block as `name`. Waiting for data is the host's time on every device."""
        outer = self._open[-1] if self._open else None
        on_device = self.cuda and name != "data"
        self._open.append(name)
        begin = self._mark(on_device)
        try:
            yield
        finally:
            self._open.pop()
            self._marks.append((name, outer, begin, self._mark(on_device)))

    def take(self) -> dict[Section, float]:
        """Seconds of each section since the last call. On CUDA this waits for the work that was counted."""
        seconds: dict[Section, float] = {"data": 0.0, "compute": 0.0, "comm": 0.0}
        for name, outer, begin, end in self._marks:
            spent = _between(begin, end)
            seconds[name] += spent
            if outer is not None:
                seconds[outer] -= spent
        self._marks.clear()
        return seconds

    @staticmethod
    def _mark(on_device: bool) -> Any:
        if not on_device:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event


def _between(begin: Any, end: Any) -> float:
    if isinstance(begin, float):
        return float(end - begin)
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1000
