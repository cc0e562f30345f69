"""The times that lines bear, as Unix seconds; each minute of a log is worked out once."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

_MOST = 4096
DAY = 86_400.0


class Clocks:
    """Clocks as lines show them, with their seconds: without zone, fraction and half of the day.

    Args:
        parse: reads the clock of a line, and tells how many seconds its last number counts.

    Attributes:
        seconds: what is known; all of it is forgotten when it becomes much.
    """

    def __init__(self, parse: Callable[[bytes], tuple[float, int]]) -> None:
        self.seconds: dict[str, float] = {}
        self._minutes: dict[str, tuple[float, int]] = {}
        self._parse = parse

    def read(self, clock: str, line: Callable[[], bytes]) -> float:
        """The seconds of a clock that stands in a line; of one in a minute that is known by the digits that
        end it."""
        if len(self.seconds) >= _MOST:
            self.seconds.clear()
            self._minutes.clear()
        minute, last = clock[:-2], clock[-2:]
        known = self._minutes.get(minute)
        if known is not None and last < "60":
            second = known[0] + known[1] * int(last)
        else:
            second, tick = self._parse(line())
            if last.isdigit() and last < "60":
                self._minutes[minute] = second - tick * int(last), tick
        self.seconds[clock] = second
        return second

    def minute(self, clock: str, line: Callable[[], bytes]) -> float | None:
        """When the minute of a clock began that stands in a line, or its hour where it counts minutes; None
        where the clock does not tell."""
        if clock[:-2] not in self._minutes:
            self.read(clock, line)
        known = self._minutes.get(clock[:-2])
        return None if known is None else known[0]


def with_fraction(second: float, digits: str) -> float:
    """A time by its seconds and the digits behind them."""
    return second + float(f"0.{digits}") if digits else second


def unix(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float:
    """Unix seconds of a UTC time, NaN for a time that does not exist."""
    if hour > 23 or minute > 59:
        return math.nan
    return _midnight(year, month, day) + 3600 * hour + 60 * minute + min(second, 59)


@lru_cache(maxsize=64)
def _midnight(year: int, month: int, day: int) -> float:
    """Unix seconds of the beginning of a day in UTC, NaN for a day that does not exist."""
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return math.nan
