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
        self._open = b""
        """What a line shows so far that no line feed has ended."""

    def see(self, data: bytes) -> None:
        """Takes in whole pieces, each ended by a line feed or a carriage return."""
        if self._lines > _MOST_LINES:
            return
        *lines, rest = (self._open + data).split(b"\n")
        self._lines += len(lines)
        self._numbers += sum(map(_numbers_on, lines))
        self._open = _shown(rest) + b"\r" if rest else b""

    def shortfall(self, points: int) -> str:
        """What to say when `points` were read: "" when that is most of it, or nothing at all, which is said
        elsewhere."""
        numbers = self._numbers + _numbers_on(self._open)
        if not points or self._lines > _MOST_LINES or numbers < _FEWEST:
            return ""
        if points >= _LEAST * numbers:
            return ""
        return f"of {numbers:,} numbers with decimals on its lines {points:,} were read as metrics"


def _shown(line: bytes) -> bytes:
    """What a line shows at last: what a redraw wrote over was never there."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]


def _numbers_on(line: bytes) -> int:
    shown = _shown(line)
    counts = b"." in shown and not any(sign in shown for sign in _PASSED_OVER)
    return len(_NUMBER.findall(shown)) if counts else 0
