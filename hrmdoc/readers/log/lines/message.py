"""A line without what stands before its message, and what that said: the time, the rank, the logger."""

from __future__ import annotations

import math
import re

from msgspec import Struct

from hrmdoc.readers.log.lines.clocks import with_fraction
from hrmdoc.readers.log.lines.dates import Stamp

Span = tuple[int, int]


class Message(Struct):
    """A line without its prefix.

    Attributes:
        whole: the line.
        rest: the message, which ends the line.
        time: Unix seconds or NaN; see `dates` for a time of day.
        second, shift, tick: of the stamp, see `Stamp`.
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
    shift: float = 0.0
    tick: int = 1
    clock: Span | None = None
    fraction: Span | None = None
    zone: Span | None = None
    ranked: Span | None = None

    def see_rank(self, found: re.Match[str], group: int, offset: int) -> None:
        """A pattern found the rank, in a text that begins at `offset` of the line."""
        self.rank = int(found.group(group))
        self.ranked = (offset + found.start(group), offset + found.end(group))

    def see(self, stamp: Stamp, offset: int) -> None:
        """The same for the time; a time of day behind a date is how long something took."""
        if not math.isnan(self.time) and stamp.is_of_day:
            return
        self.second, self.shift, self.tick = stamp.second, stamp.shift, stamp.tick
        fraction, zone = stamp.span("f"), stamp.span("z")
        self.time = stamp.shift + with_fraction(stamp.second, stamp.found["f"] if fraction else "")
        self.clock, self.fraction, self.zone = (
            span and (offset + span[0], offset + span[1]) for span in (stamp.clock, fraction, zone)
        )

    @property
    def clock_read(self) -> tuple[float, int]:
        """The second and the tick of the stamp."""
        return self.second, self.tick

    def offset(self, end: str) -> int:
        """Where on the line a text begins that ends it."""
        return len(self.whole) - len(end)
