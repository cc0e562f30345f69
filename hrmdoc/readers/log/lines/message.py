"""A line without what stands before its message, and what that said: the time, the rank, the logger."""

from __future__ import annotations

import math
import re

from msgspec import Struct

from hrmdoc.readers.log.lines.clocks import unix, with_fraction

Span = tuple[int, int]


class Message(Struct):
    """A line without its prefix.

    Attributes:
        whole: the line.
        rest: the message, which ends the line.
        time: Unix seconds or NaN; without their fraction: `second`.
        logger: the last word that named one.
        clock, fraction, zone, ranked: where on the line the time stands up to its seconds, their fraction,
            the zone, and the rank.
    """

    whole: str
    rest: str
    time: float = math.nan
    rank: int | None = None
    logger: str = ""
    world_size: int | None = None
    second: float = math.nan
    clock: Span | None = None
    fraction: Span | None = None
    zone: Span | None = None
    ranked: Span | None = None

    def see_rank(self, found: re.Match[str], group: int, offset: int) -> None:
        """A pattern found the rank, in a text that begins at `offset` of the line."""
        self.rank = int(found.group(group))
        self.ranked = (offset + found.start(group), offset + found.end(group))

    def see_time(
        self, found: re.Match[str], offset: int, second: float, last: int, fraction: int = 0
    ) -> None:
        """The same for the time: `last` is the group of its seconds, `fraction` that of what follows them."""
        digits = found.group(fraction) if fraction else None
        self.second = second
        self.time = with_fraction(second, digits or "")
        self.clock = (offset + found.start(1), offset + found.end(last))
        self.fraction = (offset + found.start(fraction), offset + found.end(fraction)) if digits else None
        self.zone = None

    def offset(self, end: str) -> int:
        """Where on the line a text begins that ends it."""
        return len(self.whole) - len(end)

    def see_iso(self, found: re.Match[str], at: int) -> None:
        """The same for an ISO date: groups for year to second, fraction and zone."""
        second, zone = unix(*map(int, found.groups()[:6])), found.group(8)
        if zone and zone != "Z":
            sign = -1 if zone[0] == "+" else 1
            second += sign * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
        self.see_time(found, at, second, 6, 7)
        self.zone = (at + found.start(8), at + found.end(8)) if zone else None
