"""Whether most numbers on the lines of a log were read, so that a log that is hardly understood says so."""

from __future__ import annotations

import re

_NUMBER = re.compile(rb"(?<![\w.:,\-/])[-+]?\d{1,20}\.\d{1,20}(?:[eE][-+]?\d{1,3})?(?![\w.:\-/])")
"""A number with decimals that is no version, date, clock, path or unit."""
_PASSED_OVER = (b"%|", b"it/s", b"s/it", b"/step")
"""On lines of a bar: their rates are no measures, and redraws repeat them."""
_MOST_LINES = 20_000
_FEWEST = 50
_LEAST = 0.5


class Coverage:
    """Counts numbers on the lines of a log of at most 20,000 lines; of a longer one nothing is said."""

    def __init__(self) -> None:
        self._lines = 0
        self._numbers = 0

    def see(self, data: bytes) -> None:
        """Takes in whole lines."""
        if self._lines > _MOST_LINES:
            return
        for drawn in data.split(b"\n"):
            line = drawn.rstrip(b"\r").rpartition(b"\r")[2]  # what a redraw wrote over was never there
            self._lines += 1
            if b"." in line and not any(sign in line for sign in _PASSED_OVER):
                self._numbers += len(_NUMBER.findall(line))

    def shortfall(self, points: int) -> str:
        """What to say when `points` were read: "" when that is most of it, or nothing at all, which is said
        elsewhere."""
        if not points or self._lines > _MOST_LINES or self._numbers < _FEWEST:
            return ""
        if points >= _LEAST * self._numbers:
            return ""
        return f"of {self._numbers:,} numbers with decimals on its lines {points:,} were read as metrics"
